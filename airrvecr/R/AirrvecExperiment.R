#' Cells of a run as a SingleCellExperiment
#'
#' An AirrvecExperiment is a [SingleCellExperiment::SingleCellExperiment] and works wherever one does. Two
#' things differ in `cbind`: columns of cells that one object lacks become `NA`, and the provenance of a run
#' stays once in `metadata(x)$airrvec`. `as(x, "SingleCellExperiment")` gives the plain class, e.g. to save an
#' object for somebody without this package.
#'
#' @param ... Objects of this class.
#' @param deparse.level Not used.
#' @return For `cbind`, an AirrvecExperiment of the cells of all objects.
#' @examples
#' pbmc <- read_airrvec(example_results(), "pbmc")
#' lavage <- read_airrvec(example_results(), "lavage")
#' both <- cbind(pbmc, lavage)
#' table(both$sample_id)
#' @name AirrvecExperiment
#' @aliases AirrvecExperiment-class
#' @exportClass AirrvecExperiment
setClass("AirrvecExperiment", contains = "SingleCellExperiment")

#' @rdname AirrvecExperiment
#' @export
setMethod("cbind", "AirrvecExperiment", function(..., deparse.level = 1) {
  experiments <- list(...)
  if (length(experiments) == 1) return(experiments[[1]])
  experiments <- with_common_vectors(experiments)
  names <- unique(unlist(lapply(experiments, function(x) names(colData(x)))))
  plain <- lapply(experiments, function(x) {
    columns <- setNames(lapply(names, function(name) cell_column(x, name, experiments)), names)
    colData(x) <- DataFrame(columns, row.names = colnames(x), check.names = FALSE)
    metadata(x) <- list()
    as(x, "SingleCellExperiment")
  })
  bound <- do.call(cbind, plain)
  if (anyDuplicated(colnames(bound))) {
    stop("Names of cells occur in several objects, e.g. ", colnames(bound)[anyDuplicated(colnames(bound))], ".",
      call. = FALSE)
  }
  metadata(bound) <- merged_metadata(lapply(experiments, metadata))
  new("AirrvecExperiment", bound)
})

#' @rdname AirrvecExperiment
#' @param object An object of this class.
#' @export
setMethod("show", "AirrvecExperiment", function(object) {
  callNextMethod()
  run <- metadata(object)$airrvec
  cat("airrvec ", run$airrvec_version, ", model ", toString(names(run$models)), ", read from ", run$read_from,
    "\n", sep = "")
})

#' A column of the cells; NA of the type that other objects have where this one lacks it
#' @noRd
cell_column <- function(x, name, experiments) {
  known <- lapply(experiments, function(other) colData(other)[[name]])
  known <- known[!vapply(known, is.null, logical(1))]
  values <- colData(x)[[name]]
  if (is.factor(known[[1]])) {
    levels <- unique(unlist(lapply(known, levels)))
    ordered <- is.ordered(known[[1]])
    if (ordered) levels <- confidence_levels(levels)
    values <- if (is.null(values)) rep(NA, ncol(x)) else as.character(values)
    return(factor(values, levels, ordered = ordered))
  }
  if (is.null(values)) known[[1]][rep(NA_integer_, ncol(x))] else values
}

#' The reduced dimensions that all objects have, of the same weights
#' @noRd
with_common_vectors <- function(experiments) {
  names <- lapply(experiments, reducedDimNames)
  common <- Reduce(intersect, names)
  left_out <- setdiff(unlist(names), common)
  if (length(left_out) > 0) {
    warning("Not in all objects, and left out: reduced dimensions ", toString(left_out), ".", call. = FALSE)
  }
  for (name in common) {
    weights <- lapply(experiments, function(x) metadata(x)$airrvec$models[[tolower(name)]]$weights_sha256)
    if (length(unique(unlist(weights))) > 1) {
      stop("The vectors ", name, " are of models with different weights. They cannot be compared.", call. = FALSE)
    }
  }
  lapply(experiments, function(x) {
    reducedDims(x) <- reducedDims(x)[common]
    x
  })
}

merged_metadata <- function(each) {
  runs <- lapply(each, function(one) one[startsWith(names(one), "airrvec")])
  own <- lapply(each, function(one) one[!startsWith(names(one), "airrvec")])
  runs <- unique(unname(do.call(c, runs)))
  names(runs) <- c("airrvec", sprintf("airrvec_%d", seq_along(runs)[-1]))[seq_along(runs)]
  own <- do.call(c, own)
  c(runs, own[!duplicated(own) | !duplicated(names(own))])
}

#' Name of a reduced dimension by the name of its model, in any case
#' @noRd
reduced_dim_name <- function(x, model = NULL) {
  known <- intersect(reducedDimNames(x), toupper(names(metadata(x)$airrvec$models)))
  if (length(known) == 0) {
    stop("The object has no vectors. ", toString(metadata(x)$airrvec$missing), call. = FALSE)
  }
  if (is.null(model) && length(known) == 1) return(known)
  if (is.null(model) || !toupper(model) %in% known) {
    stop("Choose a `model`: the object has ", toString(tolower(known)), ".", call. = FALSE)
  }
  toupper(model)
}
