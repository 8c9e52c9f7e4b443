#' Results of airrvec in R and Bioconductor
#'
#' [read_airrvec()] reads the cells of a run. [auroc()], [calls()], [clones()], [clusters()] and
#' [embeddings()] read its tables, [nearest()] finds similar receptors, [add_airrvec()] brings receptors to
#' gene expression.
#'
#' Most tables of airrvec are Parquet files. They are read with arrow or nanoparquet, whichever is installed.
#' Without either, the functions read the `.rds` objects of `--export_sce` and the TSV files, and tell what
#' these lack. `options(airrvecr.parquet = "none")` ignores both packages.
#'
#' @keywords internal
#' @import methods
#' @import SingleCellExperiment
#' @importFrom BiocGenerics cbind
#' @importFrom IRanges nearest
#' @importFrom S4Vectors DataFrame metadata metadata<-
#' @importFrom SummarizedExperiment colData colData<-
#' @importFrom stats setNames
#' @importFrom utils read.delim
"_PACKAGE"

#' Results of the demonstration, in small
#'
#' Files of a run on some cells of airrvec's demonstration, for examples and tests: 60 cells each of two samples of
#' 10x Genomics, four donors, the labelled table, calls, clusters, and the benchmark. The receptors are real; their
#' sources and licences are in the folder `extdata` of this package, the script that made it in `scripts`.
#'
#' @return The path of the folder.
#' @examples
#' list.files(example_results())
#' @export
example_results <- function() {
  system.file("extdata", "demo", package = "airrvecr", mustWork = TRUE)
}
