# What a run was made of: read from its RO-Crate, its manifest and its tables.

#' Provenance of a run
#'
#' @param dir A folder of results.
#' @return A list, kept in `metadata(x)$airrvec` by [read_airrvec()]:
#' * `airrvec_version`, `started`, `versions`: of airrvec, the start of the run, versions of its programs;
#' * `parameters`: a list of all parameters;
#' * `models`: for each, the SHA-256 of its weights and the metadata of its vectors;
#'   `model` and `weights_sha256` are those of the first;
#' * `fdr`: the false discovery rate of the calls (`--annotation_fdr`), `NA` without calls;
#' * `reference`: tables of the reference with their rows, receptors and epitopes;
#' * `inputs`: a data frame of the input files: path, SHA-256, size, sample.
#' @examples
#' run <- provenance(example_results())
#' run$parameters$annotation_fdr
#' run$inputs[, c("path", "sample")]
#' @export
provenance <- function(dir) {
  check_results(dir)
  crate <- file.path(dir, "ro-crate-metadata.json")
  parameters <- if (file.exists(crate)) crate_parameters(crate) else list()
  versions <- read_versions(file.path(dir, "pipeline_info", "software_versions.yml"))
  models <- model_metadata(dir)
  first <- if (length(models) > 0) models[[1]] else list()
  manifest <- read_if_there(file.path(dir, "pipeline_info", "manifest.tsv"))
  inputs <- manifest[manifest$kind %in% "input", c("path", "sha256", "size", "sample")]
  rownames(inputs) <- NULL
  annotated <- dir.exists(file.path(dir, "annotation"))
  list(
    model = first$model, weights_sha256 = first$weights_sha256,
    airrvec_version = first_known(versions$airrvec, first$airrvec_version),
    started = first_line(file.path(dir, "pipeline_info", "started.txt")),
    parameters = parameters, models = models,
    fdr = if (annotated) as.numeric(first_known(parameters$annotation_fdr, NA)) else NA_real_,
    reference = read_if_there(file.path(dir, "annotation/reference/sources.tsv")),
    inputs = inputs, versions = versions
  )
}

first_known <- function(...) {
  values <- list(...)
  values <- values[lengths(values) > 0]
  if (length(values) == 0) NA_character_ else values[[1]]
}

first_line <- function(path) if (file.exists(path)) readLines(path, 1, warn = FALSE) else NA_character_

read_if_there <- function(path) if (file.exists(path)) read_tsv(path) else NULL

#' Parameters of a run: property values that the crate's action took
#' @noRd
crate_parameters <- function(path) {
  graph <- jsonlite::read_json(path)[["@graph"]]
  is_value <- vapply(graph, function(entity) "PropertyValue" %in% unlist(entity[["@type"]]), logical(1))
  values <- graph[is_value]
  values <- values[vapply(values, function(entity) !is.null(entity$name), logical(1))]
  setNames(
    lapply(values, function(entity) utils::type.convert(entity$value, as.is = TRUE)),
    vapply(values, function(entity) entity$name, character(1))
  )
}

#' Package versions of `software_versions.yml`, each once: lines `    name: "version"` below a process
#' @noRd
read_versions <- function(path) {
  if (!file.exists(path)) return(list())
  lines <- grep("^\\s+[^:]+: ", readLines(path, warn = FALSE), value = TRUE)
  names <- trimws(sub(":.*$", "", lines))
  versions <- gsub("[\"']", "", trimws(sub("^[^:]+:", "", lines)))
  as.list(setNames(versions, names)[!duplicated(names)])
}

#' Model name -> list of the metadata of its vectors; from the .rds objects where Parquet cannot be read
#' @noRd
model_metadata <- function(dir) {
  names <- models_of_results(dir)
  if (parquet_package() == "none" || length(names) == 0) return(list())
  keys <- c("model", "weights_sha256", "dimensions", "airrvec_version", "device", "precision")
  lapply(setNames(names, names), function(name) {
    known <- parquet_metadata(partition_files(file.path(dir, "embeddings"), name)[1])
    known[intersect(keys, names(known))]
  })
}
