#!/usr/bin/env Rscript
# Cells of one or more samples -> a SingleCellExperiment of their vectors. Of packages, only that one is needed.

packages <- "SingleCellExperiment"
lacking <- packages[!vapply(packages, requireNamespace, logical(1), quietly = TRUE)]
if (length(lacking) > 0) {
  message(
    "ERROR: R lacks the package(s) ", toString(lacking), ". Install them, with BiocManager::install(c(",
    toString(shQuote(lacking, "cmd")), ")) or, on Debian and Ubuntu, apt-get install ",
    paste0("r-bioc-", tolower(lacking), collapse = " "), ", or run this process in the image of containers/r,",
    " e.g. with -profile docker."
  )
  quit(status = 1)
}
if (identical(commandArgs(trailingOnly = TRUE), "--check")) quit(status = 0)

usage <- "export_sce.R COLUMNS --out FILE.rds [--process NAME --versions FILE]; COLUMNS is from describe_cells.py"

parse_arguments <- function(argv) {
  arguments <- list(process = "airrvec")
  while (length(argv) > 0) {
    name <- sub("^--", "", argv[1])
    if (identical(name, argv[1])) {
      arguments$columns <- argv[1]
      argv <- argv[-1]
    } else {
      if (!name %in% c("out", "process", "versions") || length(argv) < 2) stop("usage: ", usage)
      arguments[[name]] <- argv[2]
      argv <- argv[-(1:2)]
    }
  }
  if (is.null(arguments$columns) || is.null(arguments$out)) stop("usage: ", usage)
  arguments
}

# The file that airrvec.core.table_parts describes.
read_columns <- function(path) {
  file <- file(path, "rb")
  on.exit(close(file))
  complete <- function(values, n) {
    if (length(values) != n) stop(basename(path), " is incomplete.")
    values
  }
  text <- function(n) {
    values <- complete(suppressWarnings(readBin(file, "character", n)), n)
    Encoding(values) <- "UTF-8"
    values
  }
  numbers <- function(n, what = "integer", size = 4) {
    complete(readBin(file, what, n, size = size, endian = "little"), n)
  }
  if (!identical(text(1), "airrvec columns 1")) stop(basename(path), " is not a file of describe_cells.py.")
  n <- numbers(4) # rows, columns, dimensions, metadata
  columns <- list()
  for (i in seq_len(n[2])) {
    name <- text(1)
    columns[[i]] <- switch(text(1),
      character = text(numbers(1))[numbers(n[1])],
      logical = as.logical(numbers(n[1])),
      integer = numbers(n[1]),
      double = missing_as_na(numbers(n[1], "double", 8))
    )
    names(columns)[i] <- name
  }
  names <- text(n[1])
  dimensions <- text(n[3])
  vectors <- matrix(missing_as_na(numbers(n[1] * n[3], "double", 4)), n[1], n[3])
  dimnames(vectors) <- list(names, dimensions)
  metadata <- matrix(text(2 * n[4]), 2)
  metadata <- stats::setNames(as.list(metadata[2, ]), metadata[1, ])
  list(columns = columns, names = names, vectors = vectors, metadata = metadata)
}

missing_as_na <- function(values) {
  values[is.nan(values)] <- NA
  values
}

as_experiment <- function(cells) {
  SingleCellExperiment::SingleCellExperiment(
    reducedDims = list(SCEPTR = cells$vectors),
    colData = S4Vectors::DataFrame(cells$columns, row.names = cells$names, check.names = FALSE),
    metadata = list(airrvec = cells$metadata)
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
  cells <- read_columns(arguments$columns)
  save_experiment(as_experiment(cells), arguments$out)
  if (!is.null(arguments$versions)) write_versions(arguments, cells$metadata$airrvec_version)
}

if (sys.nframe() == 0) { # not where a test sources it
  tryCatch(main(), error = \(problem) {
    message("ERROR: ", conditionMessage(problem))
    quit(status = 1)
  })
}
