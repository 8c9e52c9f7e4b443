# Files of a results folder: Parquet where a package reads it, else TSV.

#' Package that reads Parquet here: "arrow", "nanoparquet", or "none"
#' @noRd
parquet_package <- function() {
  wanted <- getOption("airrvecr.parquet", c("arrow", "nanoparquet"))
  installed <- vapply(wanted, requireNamespace, logical(1), quietly = TRUE)
  c(wanted[installed], "none")[1]
}

needs_parquet <- function(what) {
  stop(
    what, " is a Parquet file. Install arrow or nanoparquet, e.g. install.packages(\"nanoparquet\").",
    call. = FALSE
  )
}

check_results <- function(dir) {
  if (!is.character(dir) || length(dir) != 1 || is.na(dir)) {
    stop("`dir` must be the path of a folder of results, as one text.", call. = FALSE)
  }
  if (!dir.exists(dir)) stop("There is no folder ", dir, ".", call. = FALSE)
  parts <- c("pipeline_info", "cells", "receptors", "embeddings", "annotation", "benchmark", "clones", "r")
  if (!any(dir.exists(file.path(dir, parts)))) {
    stop(dir, " is no folder of airrvec's results: it has none of ", toString(parts), ".", call. = FALSE)
  }
  invisible(dir)
}

parquet_names <- function(path) {
  if (parquet_package() == "arrow") return(arrow::ParquetFileReader$create(path)$GetSchema()$names)
  schema <- nanoparquet::read_parquet_schema(path)
  schema$name[-1] # the first is the root
}

parquet_metadata <- function(path) {
  if (parquet_package() == "arrow") return(arrow::ParquetFileReader$create(path)$GetSchema()$metadata)
  pairs <- nanoparquet::read_parquet_metadata(path)$file_meta_data$key_value_metadata[[1]]
  setNames(as.list(pairs$value), pairs$key)
}

#' Columns of a Parquet file as a list of vectors; those that the file lacks are left out
#' @noRd
read_parquet_columns <- function(path, columns = NULL) {
  known <- parquet_names(path)
  columns <- if (is.null(columns)) known else intersect(columns, known)
  if (parquet_package() == "arrow") {
    # Lazy columns (ALTREP) are lost when an object is saved and read where arrow is not.
    old <- options(arrow.use_altrep = FALSE)
    on.exit(options(old))
    reader <- arrow::ParquetFileReader$create(path)
    table <- reader$ReadTable(match(columns, known) - 1L)
    values <- lapply(setNames(columns, columns), function(name) table$GetColumnByName(name)$as_vector())
  } else {
    values <- as.list(as.data.frame(nanoparquet::read_parquet(path, col_select = columns)))
  }
  lapply(values, plain_numbers)
}

#' Counts above R's integers as double, without bit64's class
#' @noRd
plain_numbers <- function(values) {
  if (!inherits(values, "integer64")) return(values)
  if (!requireNamespace("bit64", quietly = TRUE)) stop("Counts above 2,147,483,647 need the package bit64.")
  bit64::as.double.integer64(values)
}

# Columns of numbers only that are names all the same: read as text.
text_columns <- "(^|_)(id|ids|call|aa|sample|samples|donor|epitope|mhc|study|value_1|value_2|confidence|name)$"

#' A TSV of airrvec as a data frame
#'
#' An empty field is NA. The apostrophe that keeps spreadsheets from computing a text is removed.
#' @noRd
read_tsv <- function(path) {
  table <- read.delim(
    path, colClasses = "character", na.strings = "", check.names = FALSE, quote = "\"", comment.char = "",
    fileEncoding = "UTF-8"
  )
  table[] <- Map(typed, table, names(table))
  table
}

typed <- function(values, name) {
  known <- values[!is.na(values)]
  if (length(known) == 0) return(values)
  if (all(known %in% c("True", "False"))) return(values == "True")
  number <- "^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?inf$"
  if (!grepl(text_columns, name) && all(grepl(number, known))) {
    numbers <- as.numeric(values)
    whole <- all(grepl("^[+-]?[0-9]+$", known)) && all(abs(numbers) < 2^31, na.rm = TRUE)
    return(if (whole) as.integer(numbers) else numbers)
  }
  sub("^'(?=[=+\\-@\uff1d\uff0b\uff0d\uff20])", "", values, perl = TRUE)
}

#' A table of a results folder by its path without ending, or NULL if the run did not make it
#' @noRd
find_table <- function(dir, stem) {
  parquet <- file.path(dir, paste0(stem, ".parquet"))
  tsv <- file.path(dir, paste0(stem, ".tsv"))
  if (file.exists(parquet) && parquet_package() != "none") {
    return(as.data.frame(read_parquet_columns(parquet), optional = TRUE))
  }
  if (file.exists(tsv)) return(read_tsv(tsv))
  if (file.exists(parquet)) needs_parquet(parquet)
  NULL
}

#' The same, or an error that names the option that makes it
#' @noRd
must_find_table <- function(dir, stem, option) {
  check_results(dir)
  table <- find_table(dir, stem)
  if (is.null(table)) stop(dir, " has no ", stem, ": the run was made without ", option, ".", call. = FALSE)
  table
}

as_table <- function(table) {
  rownames(table) <- NULL
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(table) else table
}

#' Rows of tables below each other; columns that a table lacks are NA
#' @noRd
bind_rows <- function(tables) {
  names <- unique(unlist(lapply(tables, names)))
  columns <- lapply(setNames(names, names), function(name) {
    parts <- lapply(tables, function(table) {
      n <- length(table[[1]])
      if (name %in% names(table)) table[[name]] else rep(NA, n)
    })
    if (any(vapply(parts, is.factor, logical(1)))) parts <- lapply(parts, as.character)
    unlist(parts, use.names = FALSE)
  })
  as.data.frame(columns, optional = TRUE, stringsAsFactors = FALSE)
}

file_stems <- function(folder, ending) {
  pattern <- paste0("\\.", ending, "$")
  sort(sub(pattern, "", list.files(folder, pattern = pattern)), method = "radix")
}

#' Parquet files of `<folder>/<name>.parquet` or, with --partitions, `<folder>/<name>/<name>_0000.parquet`
#' @noRd
partition_files <- function(folder, name) {
  own <- file.path(folder, paste0(name, ".parquet"))
  if (file.exists(own)) return(own)
  inside <- if (dir.exists(file.path(folder, name))) file.path(folder, name) else folder
  sort(list.files(inside, pattern = paste0("^", name, "_[0-9]+\\.parquet$"), full.names = TRUE))
}
