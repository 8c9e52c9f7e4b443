#!/usr/bin/env Rscript
# Cells of one or more samples -> a SingleCellExperiment of their vectors, which loads without arrow.

packages <- c("arrow", "dplyr", "optparse", "SingleCellExperiment")
lacking <- packages[!vapply(packages, requireNamespace, logical(1), quietly = TRUE)]
if (length(lacking) > 0) {
  message(
    "ERROR: R lacks the package(s) ", toString(lacking), ". Install them, with BiocManager::install(c(",
    toString(shQuote(lacking, "cmd")), ")), or run this process in the image of containers/r, e.g. with",
    " -profile docker."
  )
  quit(status = 1)
}
if (identical(commandArgs(trailingOnly = TRUE), "--check")) quit(status = 0)
# Lazy columns of arrow would be lost where the file is read without arrow.
options(arrow.use_altrep = FALSE)

parse_arguments <- function(argv) {
  parser <- optparse::OptionParser(
    usage = "%prog --description FILE --receptors FILE --embeddings FILE --out FILE cells ...",
    description = "Cells of one or more samples as a SingleCellExperiment.",
    option_list = list(
      optparse::make_option("--description", help = "description of the cells, from describe_cells.py (Parquet)"),
      optparse::make_option("--receptors", help = "receptors of the run (Parquet)"),
      optparse::make_option("--embeddings", help = "their vectors (Parquet)"),
      optparse::make_option("--out", help = "file to write (.rds)"),
      optparse::make_option("--process", default = "airrvec", help = "name that heads --versions"),
      optparse::make_option("--versions", help = "YAML file for the versions of what was used")
    )
  )
  arguments <- optparse::parse_args(parser, argv, positional_arguments = c(1, Inf))
  for (name in c("description", "receptors", "embeddings", "out")) {
    if (is.null(arguments$options[[name]])) stop("--", name, " is missing")
  }
  c(arguments$options, list(cells = arguments$args))
}

# Counts beyond R's integers come as integer64, which is read as nonsense where bit64 is not loaded.
as_plain <- function(table) {
  is_integer64 <- vapply(table, inherits, logical(1), what = "integer64")
  table[is_integer64] <- lapply(table[is_integer64], as.double)
  table
}

# Rows of a table of receptors, one for each receptor_id, in their order.
read_of_receptors <- function(path, receptor_ids) {
  wanted <- unique(receptor_ids)
  found <- arrow::open_dataset(path, format = "parquet") |>
    dplyr::filter(.data$receptor_id %in% wanted) |>
    dplyr::collect() |>
    as_plain()
  place <- match(receptor_ids, found$receptor_id)
  if (anyNA(place)) {
    lost <- sum(is.na(place))
    stop(basename(path), ": ", lost, " of ", length(place), " cells have a receptor that is missing here.")
  }
  found[place, ]
}

# A metadata column that has the name of a receptor's column, or none, gets a suffix.
free_names <- function(names, reserved) {
  taken <- c(names, reserved)
  for (i in which(names == "" | names %in% reserved)) {
    while (names[i] == "" || names[i] %in% taken) names[i] <- paste0(names[i], "_sample")
    taken <- c(taken, names[i])
  }
  names
}

read_cells <- function(path, reserved) {
  cells <- as_plain(as.data.frame(arrow::read_parquet(path)))
  names(cells) <- free_names(names(cells), reserved)
  cells
}

as_experiment <- function(cells, names, receptors, embeddings, metadata) {
  vectors <- as.matrix(embeddings[names(embeddings) != "receptor_id"]) # cells x dimensions
  rownames(vectors) <- names
  SingleCellExperiment::SingleCellExperiment(
    reducedDims = list(SCEPTR = vectors),
    colData = S4Vectors::DataFrame(c(cells, receptors), row.names = names, check.names = FALSE),
    metadata = list(airrvec = metadata)
  )
}

# Under a temporary name until it is complete. Stronger compression takes four times as long.
save_experiment <- function(experiment, path) {
  temporary <- paste0(path, ".tmp")
  connection <- gzfile(temporary, compression = 1)
  saveRDS(experiment, connection)
  close(connection)
  invisible(file.rename(temporary, path))
}

write_versions <- function(arguments, airrvec) {
  found <- c(r = paste(R.version$major, R.version$minor, sep = "."), airrvec = airrvec)
  for (package in packages) found[package] <- as.character(utils::packageVersion(package))
  lines <- c(sprintf('"%s":', arguments$process), sprintf('    %s: "%s"', names(found), found))
  writeLines(lines, arguments$versions)
}

main <- function(argv = commandArgs(trailingOnly = TRUE)) {
  arguments <- parse_arguments(argv)
  of_cells <- c("receptor_id", "clonotype_id", "species", "chain_pairing")
  fields <- setdiff(names(arrow::open_dataset(arguments$receptors, format = "parquet")), of_cells)
  description <- as_plain(as.data.frame(arrow::read_parquet(arguments$description)))
  described <- description[setdiff(names(description), c("name", "barcode"))] # clone sizes, calls, clusters

  samples <- lapply(arguments$cells, read_cells, reserved = c(fields, names(described)))
  cells <- dplyr::bind_rows(samples) # metadata that a sample lacks becomes NA
  if (nrow(description) != nrow(cells)) {
    stop("--description has ", nrow(description), " rows for ", nrow(cells), " cells.")
  }
  receptors <- c(read_of_receptors(arguments$receptors, cells$receptor_id)[fields], described)
  embeddings <- read_of_receptors(arguments$embeddings, cells$receptor_id)
  metadata <- arrow::open_dataset(arguments$embeddings, format = "parquet")$metadata
  metadata <- metadata[c("model", "weights_sha256", "airrvec_version")]

  save_experiment(as_experiment(cells, description$name, receptors, embeddings, metadata), arguments$out)
  if (!is.null(arguments$versions)) write_versions(arguments, metadata$airrvec_version)
}

if (sys.nframe() == 0) { # not where a test sources it
  tryCatch(main(), error = \(problem) {
    message("ERROR: ", conditionMessage(problem))
    quit(status = 1)
  })
}
