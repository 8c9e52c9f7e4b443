# Cells in the forms of other packages.

#' Cells in the form that scRepertoire reads
#'
#' @param x An object of [read_airrvec()].
#' @param dir The folder of its results. With arrow or nanoparquet, nucleotides, D and C genes are read from
#'   `chains/`; without it, or without either package, they are `NA` and `"None"`.
#' @param barcodes `"sample"`: `<sample>_<cell_id>`, as `combineTCR(samples = )` writes them. `"cell"`: the `cell_id`.
#' @return A list of data frames, one per sample, as `scRepertoire::combineTCR()` returns it: `barcode`, `sample`,
#'   `TCR1` (`V.J.C` of the alpha chain), `cdr3_aa1`, `cdr3_nt1`, `TCR2` (`V.D.J.C` of the beta chain), `cdr3_aa2`,
#'   `cdr3_nt2`, `CTgene`, `CTnt`, `CTaa`, `CTstrict`. Genes are without alleles. Give it to `combineExpression()`,
#'   `clonalQuant()` and the like. Rows that are clonotypes with counts are one row each.
#' @examples
#' cells <- read_airrvec(example_results(), "pbmc")
#' as_screpertoire(cells)$pbmc[1:2, c("barcode", "CTgene", "CTaa")]
#' @export
as_screpertoire <- function(x, dir = NULL, barcodes = c("sample", "cell")) {
  barcodes <- match.arg(barcodes)
  needs_receptors(x)
  chains <- chains_of_cells(x, dir)
  alpha <- arm(x, chains$TRA, "tra")
  beta <- arm(x, chains$TRB, "trb")
  table <- data.frame(
    barcode = if (barcodes == "sample") colnames(x) else x$cell_id, sample = as.character(x$sample_id),
    TCR1 = alpha$gene, cdr3_aa1 = alpha$aa, cdr3_nt1 = alpha$nt,
    TCR2 = beta$gene, cdr3_aa2 = beta$aa, cdr3_nt2 = beta$nt,
    CTgene = paste(alpha$gene, beta$gene, sep = "_"), CTnt = paste(alpha$nt, beta$nt, sep = "_"),
    CTaa = paste(alpha$aa, beta$aa, sep = "_"),
    CTstrict = paste(
      paste(alpha$gene, alpha$nt, sep = ";"), paste(beta$gene, beta$nt, sep = ";"), sep = "_"
    ), stringsAsFactors = FALSE
  )
  samples <- factor(table$sample, unique(table$sample))
  lapply(split(table, samples), function(one) {
    rownames(one) <- NULL
    one
  })
}

needs_receptors <- function(x) {
  if (!is(x, "AirrvecExperiment")) stop("`x` must be an object of read_airrvec().", call. = FALSE)
  lacking <- setdiff(c("sample_id", "cell_id", receptor_fields[-1]), names(colData(x)))
  arms <- vapply(c("tra_", "trb_"), function(arm) all(receptor_names(arm) %in% lacking), logical(1))
  if (all(arms)) stop("`x` lacks ", toString(lacking), ": read it without `columns`.", call. = FALSE)
}

receptor_names <- function(arm) paste0(arm, c("v_call", "j_call", "junction_aa"))

without_allele <- function(calls) sub("\\*.*", "", calls)

column_or_na <- function(x, name) {
  values <- colData(x)[[name]]
  if (is.null(values)) rep(NA_character_, ncol(x)) else as.character(values)
}

#' Genes, junction and nucleotides of one chain of each cell; NA where the cell lacks it
#' @noRd
arm <- function(x, chains, locus) {
  prefix <- paste0(locus, "_")
  aa <- column_or_na(x, paste0(prefix, "junction_aa"))
  word <- function(values) ifelse(is.na(values), "None", without_allele(values))
  genes <- list(
    v = word(column_or_na(x, paste0(prefix, "v_call"))), d = word(chains$d_call),
    j = word(column_or_na(x, paste0(prefix, "j_call"))), c = word(chains$c_call)
  )
  if (locus == "tra") genes$d <- NULL
  gene <- do.call(paste, c(unname(genes), sep = "."))
  nt <- chains$junction
  list(gene = replace(gene, is.na(aa), NA), aa = aa, nt = replace(nt, is.na(aa), NA))
}

#' D and C genes, nucleotides and counts of the chains of each cell, by locus: from chains/, else NA
#' @noRd
chains_of_cells <- function(x, dir) {
  fields <- c("d_call", "c_call", "junction", "umi_count", "duplicate_count", "sequence_id")
  empty <- setNames(rep(list(rep(NA, ncol(x))), length(fields)), fields)
  result <- list(TRA = empty, TRB = empty)
  if (is.null(dir)) return(result)
  check_results(dir)
  if (parquet_package() == "none") {
    warning("Nucleotides, D and C genes are missing: chains/ are Parquet files.", call. = FALSE)
    return(result)
  }
  for (sample in unique(as.character(x$sample_id))) {
    path <- file.path(dir, "chains", paste0(sample, ".parquet"))
    chains <- read_parquet_columns(path, c("sample_id", "cell_id", "cell_row", "locus", fields))
    cells <- read_parquet_columns(file.path(dir, "cells", paste0(sample, ".parquet")), "cell_id")$cell_id
    names <- sample_cell_names(sample, cells)
    rows <- which(x$sample_id == sample)
    if (!all(colnames(x)[rows] %in% names)) names <- cells # renamed across samples
    row <- match(colnames(x)[rows], names)
    for (locus in names(result)) {
      own <- which(chains$locus == locus)
      place <- own[match(row, chains$cell_row[own])]
      for (field in fields) result[[locus]][[field]][rows] <- chains[[field]][place]
    }
  }
  result
}

#' Chains in the form that immundata reads
#'
#' @param x An object of [read_airrvec()].
#' @param dir The folder of its results, for nucleotides, D and C genes, and counts of each chain; as in
#'   [as_screpertoire()].
#' @param file Where to write the table as TSV, or `NULL`.
#' @return A data frame, one row per chain, alpha before beta, with names of AIRR: `sample_id`, `cell_id` (the name of
#'   the cell in `x`, unique over samples), `locus`, `v_call`, `d_call`, `j_call`, `c_call`, `junction`,
#'   `junction_aa`, `cdr3_aa`, `umi_count`, `duplicate_count`, `productive`, `receptor_id`, `clone_id`. With a file,
#'   invisibly. `read_repertoires()` of immundata 0.0.5 reads the file; for pairs it needs the counts of `dir`:
#'
#' ```
#' immundata::read_repertoires(
#'   "chains.tsv", schema = immundata::make_receptor_schema(c("v_call", "junction_aa"), c("TRA", "TRB")),
#'   barcode_col = "cell_id", locus_col = "locus", umi_col = "umi_count", repertoire_schema = "sample_id",
#'   rename_columns = NULL
#' )
#' ```
#' @examples
#' cells <- read_airrvec(example_results(), "pbmc")
#' head(as_immundata(cells)[, c("cell_id", "locus", "v_call", "junction_aa")])
#' @export
as_immundata <- function(x, dir = NULL, file = NULL) {
  needs_receptors(x)
  chains <- chains_of_cells(x, dir)
  arms <- lapply(c(TRA = "tra_", TRB = "trb_"), function(prefix) {
    own <- chains[[toupper(sub("_", "", prefix))]]
    junction <- column_or_na(x, paste0(prefix, "junction_aa"))
    data.frame(
      sample_id = as.character(x$sample_id), cell_id = colnames(x), locus = toupper(sub("_", "", prefix)),
      v_call = column_or_na(x, paste0(prefix, "v_call")), d_call = own$d_call,
      j_call = column_or_na(x, paste0(prefix, "j_call")), c_call = own$c_call, junction = own$junction,
      junction_aa = junction, cdr3_aa = substr(junction, 2, nchar(junction) - 1),
      umi_count = own$umi_count, duplicate_count = own$duplicate_count, productive = TRUE,
      receptor_id = x$receptor_id, clone_id = column_or_na(x, "clone_id"), .cell = seq_len(ncol(x)),
      stringsAsFactors = FALSE
    )
  })
  table <- do.call(rbind, unname(arms))
  table <- table[!is.na(table$junction_aa), , drop = FALSE]
  table <- table[order(table$.cell, table$locus, method = "radix"), names(table) != ".cell", drop = FALSE]
  rownames(table) <- NULL
  if (is.null(file)) return(table)
  utils::write.table(table, file, sep = "\t", quote = FALSE, na = "", row.names = FALSE, fileEncoding = "UTF-8")
  invisible(table)
}
