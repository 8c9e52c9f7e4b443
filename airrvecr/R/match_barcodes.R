#' Find the cell of each barcode
#'
#' In base R alone: a run with `--export_sce` writes this file as `r/match_barcodes.R`, to be read with `source()`.
#' [add_airrvec()] uses it.
#'
#' Two names of a barcode are the same with and without the number of the library (-1), written -1, _1 or .1; two
#' different numbers are never the same. The sample is read from what stands before the barcode
#' (pbmc_AAACCTGAGAGTGAGA-1) or after it (AAACCTGAGAGTGAGA-1-pbmc), and from numbers if `samples` explains them.
#' Nothing is guessed: a name that fits no cell or several cells gets none.
#'
#' @param names Names of cells, such as `colnames(seurat)`.
#' @param cells A table of airrvec with `cell_id`, one row per cell, of one sample or of several with `sample_id`, such
#'   as the `colData` of an object of `--export_sce`.
#' @param samples The sample of all names, or prefix, suffix or number = sample, such as `c("1" = "pbmc", "2" = "csf")`
#'   for objects that Seurat has merged.
#' @return A data.frame, one row per name: `match` (matched, unmatched, ambiguous), `match_reason` (NA if matched),
#'   then the columns of `cells`, NA if not matched. It has the names as row names, if each occurs once. A warning
#'   gives the numbers of names without a cell, and why. `airrvec.match_barcodes` does the same in Python.
#' @examples
#' cells <- data.frame(sample_id = "pbmc", cell_id = c("AAACCTGAGAGTGAGA-1", "AAACCTGAGGCATTGG-1"), clone_size = 1:2)
#' match_barcodes(c("gex_AAACCTGAGGCATTGG", "gex_AAACCTGAGAGTGAGA"), cells, samples = c(gex = "pbmc"))
#' @export
match_barcodes <- function(names, cells, samples = NULL) {
  no_barcode <- "the sample has no such barcode"
  other_suffix <- "the barcode has another number in the sample"
  no_sample <- "the name holds no sample, and the cells are of several"
  unknown_sample <- "what stands beside the barcode is the name of no sample"
  two_samples <- "the name holds two samples"
  several_cells <- "several cells have the barcode"
  same_cell <- "another name fits the same cell"

  pattern <- "^(?:(.+)[^A-Za-z0-9])?([ACGTN]{8,})(?:[-_.]([0-9]{1,4}))?(?:[-_.#:](.+))?$"
  # Parts of names; "" if a name lacks a part. A name without nucleotides is its own core.
  parts_of <- function(x) {
    fits <- grepl(pattern, x, perl = TRUE)
    part <- function(i) {
      values <- rep("", length(x))
      values[fits] <- sub(pattern, paste0("\\", i), x[fits], perl = TRUE)
      values
    }
    core <- part(2)
    core[!fits] <- x[!fits]
    list(core = core, number = part(3), prefix = part(1), label = part(4))
  }
  # How often each key occurs in a table.
  occurrences <- function(keys, table) {
    distinct <- unique(table)
    n <- tabulate(match(table, distinct), length(distinct))[match(keys, distinct)]
    n[is.na(n)] <- 0L
    n
  }
  key <- function(...) paste(..., sep = "\r")

  names <- as.character(names)
  cells <- as.data.frame(cells, optional = TRUE)
  if (!"cell_id" %in% colnames(cells)) stop("the table of cells lacks the column cell_id")
  if (any(c("match", "match_reason") %in% colnames(cells))) {
    stop("the table of cells already has the column match or match_reason")
  }
  ids <- as.character(cells$cell_id)
  of_cells <- if ("sample_id" %in% colnames(cells)) as.character(cells$sample_id) else rep("", nrow(cells))
  known <- unique(of_cells)
  only <- if (!is.null(samples) && is.null(names(samples))) as.character(samples) else NULL
  map <- if (is.null(only) && !is.null(samples)) samples else character()
  map <- stats::setNames(as.character(unlist(map)), names(map))
  for (sample in c(map, only)) {
    if (!sample %in% known) {
      stop("samples names '", sample, "', which the cells lack. They have ", toString(sort(known)), ".")
    }
  }

  # Cells: by full names, and by sample and barcode.
  rows <- which(!is.na(ids))
  parts <- parts_of(ids[rows])
  joined <- nzchar(parts$prefix) | nzchar(parts$label) # the barcode of a joined table names its sample itself
  parts$core[joined] <- ids[rows][joined]
  parts$number[joined] <- ""
  has_sample <- nzchar(of_cells[rows])
  exact_names <- c(ids[rows][joined], paste(of_cells[rows], ids[rows], sep = "_")[has_sample])
  exact_rows <- c(rows[joined], rows[has_sample])
  barcodes <- key(of_cells[rows], parts$core)
  numbered <- key(barcodes, parts$number)

  # Names: their parts, and the sample of each.
  own <- parts_of(names)
  core <- own$core
  number <- own$number
  prefix <- own$prefix
  label <- own$label
  reason <- rep(NA_character_, length(names))
  translated <- function(x) {
    explained <- x %in% names(map)
    x[explained] <- map[x[explained]]
    unname(x)
  }
  plain <- core == names # no nucleotides: divided where a known prefix and a cell_id meet
  divisions <- rep(0L, length(names))
  for (text in setdiff(unique(c(known, names(map))), "")) {
    rest <- substring(names, nchar(text) + 2)
    sign <- substring(names, nchar(text) + 1, nchar(text) + 1)
    meets <- plain & startsWith(names, text) & grepl("^[^A-Za-z0-9]$", sign)
    meets <- meets & key(translated(text), rest) %in% barcodes
    core[meets] <- rest[meets]
    prefix[meets] <- text
    divisions <- divisions + meets
  }
  if (is.null(only)) {
    one_merge <- length(known) == 1 && length(unique(own$label)) == 1
    merge <- grepl("^[0-9]+$", label) & !label %in% names(map) & (nzchar(prefix) | one_merge)
    label[merge] <- ""
    has_prefix <- nzchar(prefix)
    has_label <- nzchar(label)
    before <- translated(prefix)
    after <- translated(label)
    sample <- ifelse(has_prefix, before, after)
    reason[has_prefix & has_label & before != after] <- two_samples
    reason[(has_prefix & !before %in% known) | (has_label & !after %in% known)] <- unknown_sample
    neither <- !has_prefix & !has_label
    by_number <- neither & number %in% names(map)
    sample[by_number] <- translated(number[by_number])
    number[by_number] <- ""
    left <- neither & !by_number
    if (length(known) == 1) sample[left] <- known else reason[left] <- no_sample
  } else {
    sample <- rep(only, length(names))
  }
  reason[divisions > 1] <- two_samples

  # Cells of the barcode whose number is the same, or unknown on one side.
  barcode <- key(sample, core)
  n_all <- occurrences(barcode, barcodes)
  n_same <- occurrences(key(barcode, number), numbered)
  n_without <- occurrences(key(barcode, ""), numbered)
  has_number <- nzchar(number)
  n <- ifelse(has_number, n_same + n_without, n_all)
  found <- ifelse(
    has_number,
    ifelse(n_same > 0, match(key(barcode, number), numbered), match(key(barcode, ""), numbered)),
    match(barcode, barcodes)
  )
  place <- rows[found]
  free <- is.na(reason)
  reason[free & n > 1] <- several_cells
  reason[free & n == 0] <- ifelse(n_all > 0, other_suffix, no_barcode)[free & n == 0]

  n_exact <- occurrences(names, exact_names)
  place[n_exact > 0] <- exact_rows[match(names, exact_names)][n_exact > 0]
  reason[n_exact == 1] <- NA
  reason[n_exact > 1] <- several_cells
  place[!is.na(reason)] <- NA
  shared <- !is.na(place) & (duplicated(place) | duplicated(place, fromLast = TRUE))
  reason[shared] <- same_cell
  place[shared] <- NA

  words <- rep("unmatched", length(names))
  words[is.na(reason)] <- "matched"
  words[reason %in% c(several_cells, same_cell, two_samples)] <- "ambiguous"
  result <- data.frame(match = words, match_reason = reason, stringsAsFactors = FALSE)
  result <- cbind(result, cells[place, , drop = FALSE])
  rownames(result) <- if (anyDuplicated(names)) NULL else names
  if (any(words != "matched")) {
    counts <- sort(table(reason), decreasing = TRUE)
    listed <- paste(counts, "x", names(counts), collapse = "; ")
    warning(sum(words != "matched"), " of ", length(names), " names have no cell (", listed, ")", call. = FALSE)
  }
  result
}
