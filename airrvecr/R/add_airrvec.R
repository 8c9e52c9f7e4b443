#' Add receptors to an object of gene expression
#'
#' Finds the cell of airrvec for each cell of a Seurat object or SingleCellExperiment by the rules of
#' [match_barcodes()], and adds columns and vectors. Nothing is overwritten without your word.
#'
#' @param x A Seurat object or a SingleCellExperiment, with cells in columns.
#' @param cells An object of [read_airrvec()], or a folder of results.
#' @param samples As in [match_barcodes()]: the sample of all cells, or prefix, suffix or number = sample.
#' @param columns Columns of `cells` to add. `NULL` adds a selection: sample, receptor, class of pairing, clone and
#'   its size, call and cluster, as far as they are known. `"all"` adds all.
#' @param prefix Text before the name of each added column, such as `"tcr_"`.
#' @param overwrite What to do if `x` has one of the columns or reduced dimensions: `FALSE` stops, or asks in an
#'   interactive session; `TRUE` replaces them.
#' @param vectors Whether to add the vectors as reduced dimensions, by the names of the models: `SCEPTR` in a
#'   SingleCellExperiment, `sceptr` in a Seurat object. Cells without a receptor have `NA`: leave them out before
#'   methods that take none.
#' @return `x` with the columns `<prefix>match` and `<prefix>match_reason`, the columns of `cells` with the prefix,
#'   and the vectors. A SingleCellExperiment gets the provenance in `metadata(x)$airrvec`, a Seurat object in
#'   `Misc(x, "airrvec")`. A warning counts the cells without a receptor.
#' @examples
#' cells <- read_airrvec(example_results())
#' barcodes <- colnames(cells)[cells$sample_id == "pbmc"][1:5]
#' expression <- SingleCellExperiment(
#'   list(counts = matrix(0, 1, 5, dimnames = list("gene", barcodes)))
#' )
#' expression <- add_airrvec(expression, cells, prefix = "tcr_")
#' colData(expression)[, c("tcr_match", "tcr_clone_size", "tcr_trb_junction_aa")]
#' @export
add_airrvec <- function(x, cells, samples = NULL, columns = NULL, prefix = "", overwrite = FALSE, vectors = TRUE) {
  is_seurat <- inherits(x, "Seurat")
  if (!is_seurat && !is(x, "SingleCellExperiment")) {
    stop("`x` must be a Seurat object or a SingleCellExperiment, not a ", class(x)[1], ".", call. = FALSE)
  }
  if (is_seurat && !requireNamespace("SeuratObject", quietly = TRUE)) stop("Install SeuratObject.", call. = FALSE)
  if (is.character(cells)) cells <- read_airrvec(cells)
  if (!is(cells, "AirrvecExperiment")) {
    stop("`cells` must be an object of read_airrvec() or a folder of results.", call. = FALSE)
  }
  chosen <- columns_to_add(cells, columns)
  matched <- match_barcodes(colnames(x), cell_table(cells, chosen), samples = samples)
  place <- matched$.row
  added <- matched[c("match", "match_reason", chosen)]
  names(added) <- paste0(prefix, names(added))
  dimensions <- if (vectors) intersect(reducedDimNames(cells), toupper(names(metadata(cells)$airrvec$models)))
  known <- if (is_seurat) names(x[[]]) else names(colData(x))
  known_dimensions <- if (is_seurat) SeuratObject::Reductions(x) else reducedDimNames(x)
  dimension_names <- if (is_seurat) tolower(dimensions) else dimensions
  ask_before(intersect(names(added), known), intersect(dimension_names, known_dimensions), overwrite)
  if (is_seurat) add_to_seurat(x, added, cells, place, dimensions) else add_to_sce(x, added, cells, place, dimensions)
}

selection <- c(
  "sample_id", "cell_id", "receptor_id", "chain_pairing", "tra_v_call", "tra_j_call", "tra_junction_aa", "trb_v_call",
  "trb_j_call", "trb_junction_aa", "innate_like", "clone_id", "clone_size", "call", "call_epitope", "call_fdr",
  "cluster_id"
)

columns_to_add <- function(cells, columns) {
  known <- names(colData(cells))
  if (is.null(columns)) return(intersect(selection, known))
  if (identical(columns, "all")) return(known)
  unknown <- setdiff(columns, known)
  if (length(unknown) > 0) {
    stop("`cells` has no column ", toString(unknown), ". It has ", toString(known), ".", call. = FALSE)
  }
  columns
}

#' Plain columns of cells with their row, for match_barcodes
#' @noRd
cell_table <- function(cells, columns) {
  wanted <- union(c("sample_id", "cell_id"), columns)
  table <- as.data.frame(colData(cells)[wanted], optional = TRUE)
  table$.row <- seq_len(nrow(table))
  table
}

ask_before <- function(columns, dimensions, overwrite) {
  if (overwrite || length(c(columns, dimensions)) == 0) return(invisible())
  there <- paste0("`x` already has ", toString(c(columns, dimensions)), ".")
  if (interactive() && isTRUE(utils::askYesNo(paste(there, "Replace?")))) return(invisible())
  stop(
    there, " Give `prefix` for other names of columns, `vectors = FALSE` to leave out the vectors, or",
    " `overwrite = TRUE` to replace them.", call. = FALSE
  )
}

add_to_sce <- function(x, added, cells, place, dimensions) {
  for (name in names(added)) colData(x)[[name]] <- added[[name]]
  for (name in dimensions) {
    vectors <- reducedDim(cells, name)[place, , drop = FALSE]
    rownames(vectors) <- colnames(x)
    reducedDim(x, name) <- vectors
  }
  metadata(x)$airrvec <- metadata(cells)$airrvec
  x
}

add_to_seurat <- function(x, added, cells, place, dimensions) {
  rownames(added) <- colnames(x)
  x <- SeuratObject::AddMetaData(x, added)
  for (name in dimensions) {
    vectors <- reducedDim(cells, name)[place, , drop = FALSE]
    rownames(vectors) <- colnames(x)
    key <- paste0(gsub("[^A-Za-z0-9]", "", name), "_")
    colnames(vectors) <- paste0(key, seq_len(ncol(vectors)))
    x[[tolower(name)]] <- SeuratObject::CreateDimReducObject(
      vectors, key = key, assay = SeuratObject::DefaultAssay(x)
    )
  }
  slot(x, "misc")$airrvec <- metadata(cells)$airrvec
  x
}
