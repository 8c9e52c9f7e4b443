demo <- example_results()

# A folder of results that a test may change.
copy_of_demo <- function(...) {
  folder <- withr_free_tempdir()
  file.copy(list.files(demo, full.names = TRUE), folder, recursive = TRUE)
  unlink(file.path(folder, c(...)), recursive = TRUE)
  folder
}

withr_free_tempdir <- function() {
  folder <- tempfile("results")
  dir.create(folder)
  folder
}

without_parquet <- function(code) {
  old <- options(airrvecr.parquet = "none")
  on.exit(options(old))
  force(code)
}

has_parquet <- function() parquet_package() != "none"
