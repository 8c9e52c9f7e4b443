"""Code in R that the tests run."""

# Rscript of the same R, but without arrow and what came with it: the rest of the script, arguments after it.
WITHOUT_ARROW = """
lacking <- c("arrow", "bit64", "dplyr", "tibble", "vctrs")
library_folder <- tempfile()
dir.create(library_folder)
packages <- list.dirs(.libPaths(), recursive = FALSE)
packages <- packages[!basename(packages) %in% lacking]
invisible(file.symlink(packages, file.path(library_folder, basename(packages))))
Sys.setenv(R_LIBS_SITE = library_folder, R_LIBS_USER = library_folder, R_LIBS = "")
quit(status = system2(file.path(R.home("bin"), "Rscript"), shQuote(commandArgs(trailingOnly = TRUE))))
"""

# What an object holds: <out>.bin, its vectors; <out>.tsv, its colData; the rest on the standard output.
DUMP = """
for (package in c("arrow", "bit64")) stopifnot(!requireNamespace(package, quietly = TRUE))
suppressPackageStartupMessages(library(SingleCellExperiment))
arguments <- commandArgs(trailingOnly = TRUE)
x <- readRDS(arguments[1])
stopifnot(methods::validObject(x), is(x, "SingleCellExperiment"))
vectors <- reducedDim(x, "SCEPTR")
stopifnot(identical(as.character(rownames(vectors)), as.character(colnames(x))), !anyDuplicated(colnames(x)))
invisible(writeBin(as.vector(vectors), paste0(arguments[2], ".bin"), size = 8))
columns <- lapply(as.list(colData(x)), \\(values) {
  if (!is.numeric(values)) return(values)
  ifelse(is.na(values), NA, sprintf(ifelse(values %in% round(values), "%.0f", "%.17g"), values))
})
table <- data.frame(colname = colnames(x), columns, check.names = FALSE)
write.table(
  table, paste0(arguments[2], ".tsv"), sep = "\\t", na = "\\\\N", quote = TRUE, qmethod = "double",
  row.names = FALSE, fileEncoding = "UTF-8"
)
cat(ncol(x), ncol(vectors), colnames(vectors)[1], unlist(metadata(x)$airrvec), sep = "\\n")
"""

# What airrvecr/R/match_barcodes.R makes of cases in the folder: <case>.cells.tsv, .names.txt, .samples.R.
MATCHED = """
arguments <- commandArgs(trailingOnly = TRUE)
source(arguments[1])
for (path in list.files(pattern = "names.txt$")) {
  case <- sub(".names.txt", "", path, fixed = TRUE)
  cells <- read.delim(paste0(case, ".cells.tsv"), colClasses = "character", na.strings = "\\\\N", quote = "")
  samples <- eval(parse(text = readLines(paste0(case, ".samples.R"))))
  found <- suppressWarnings(match_barcodes(readLines(path, encoding = "UTF-8"), cells, samples))
  stopifnot(identical(is.na(found$match_reason), found$match == "matched"))
  write.table(
    found[c("row", "match", "match_reason")], paste0(case, ".out.tsv"), sep = "\\t", na = "\\\\N",
    quote = FALSE, row.names = FALSE
  )
}
"""

# Objects of two tables in one.
BOUND = """
suppressPackageStartupMessages(library(SingleCellExperiment))
objects <- lapply(commandArgs(trailingOnly = TRUE), readRDS)
bound <- do.call(cbind, objects)
stopifnot(ncol(bound) == sum(vapply(objects, ncol, 1L)))
stopifnot(identical(names(colData(bound)), names(colData(objects[[1]]))))
"""
