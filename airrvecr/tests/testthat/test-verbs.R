test_that("AUROC, calls, clones and clusters are tables with filters", {
  table <- auroc(demo, epitope = "mean", rule = "nearest_neighbour", k = 10)
  expect_true(all(c("encoder", "auroc_mean", "auroc_se") %in% names(table)))
  expect_true("sceptr" %in% table$encoder)
  expect_true(all(table$auroc_mean > 0.5 & table$auroc_mean < 1))
  expect_error(auroc(demo, k = 999), "no k 999. It has")
  called <- calls(demo, called = TRUE)
  expect_true(all(called$call == "called"))
  expect_gt(nrow(called), 50)
  expect_true(all(calls(demo, "pbmc")$sample_id == "pbmc"))
  expect_type(called$probability, "double")
  expect_type(called$receptor_id, "character")
  expect_gt(nrow(clusters(demo)), 0)
  members <- clusters(demo, members = TRUE)
  expect_true(all(clusters(demo)$cluster_id %in% members$cluster_id))
  if (requireNamespace("tibble", quietly = TRUE)) expect_s3_class(table, "tbl_df")
})

test_that("counts of clones by sample are the same from both files, and add up", {
  wide <- without_parquet(clones(demo, by = "sample"))
  whole <- clones(demo)
  sums <- tapply(wide$n_cells, wide$clone_id, sum)
  expect_equal(as.numeric(sums[whole$clone_id]), as.numeric(whole$n_cells))
  skip_if_not(has_parquet(), "neither arrow nor nanoparquet")
  counts <- clones(demo, by = "sample")
  key <- function(table) sort(paste(table$clone_id, table$sample_id, table$n_cells))
  expect_identical(key(counts), key(wide))
})

test_that("a part that the run did not make is told with the option that makes it", {
  folder <- copy_of_demo("clusters", "annotation", "benchmark")
  expect_error(clusters(folder), "without --cluster")
  expect_error(calls(folder), "without --annotate")
  expect_error(auroc(folder), "--labelled")
  expect_error(without_parquet(embeddings(demo)), "Install arrow or nanoparquet")
})

test_that("TSV: types, ids, empty fields, and the apostrophe of spreadsheets", {
  path <- tempfile(fileext = ".tsv")
  writeLines(c(
    "receptor_id\tn\tshare\tis\tname\tempty",
    "123456789012345678901234\t1\t0.5\tTrue\t'=1+1\t",
    "023456789012345678901234\t\t1e-3\tFalse\t'quoted'\t"
  ), path)
  table <- read_tsv(path)
  expect_identical(table$receptor_id, c("123456789012345678901234", "023456789012345678901234"))
  expect_identical(table$n, c(1L, NA))
  expect_identical(table$share, c(0.5, 0.001))
  expect_identical(table$is, c(TRUE, FALSE))
  expect_identical(table$name, c("=1+1", "'quoted'"))
  expect_true(all(is.na(table$empty)))
})

test_that("nearest receptors are those of a direct computation", {
  cells <- read_airrvec(demo)
  vectors <- reducedDim(cells, "SCEPTR")
  has_vector <- which(!is.na(vectors[, 1]))
  cell <- colnames(cells)[has_vector[3]]
  hits <- nearest(cell, cells, n = 4)
  expect_identical(hits$rank, 1:4)
  expect_identical(hits$query, rep(cell, 4))
  expect_identical(hits$distance[1], 0)
  first <- !duplicated(cells$receptor_id) & !is.na(vectors[, 1])
  direct <- sort(sqrt(colSums((t(vectors[first, ]) - vectors[cell, ])^2)))
  expect_equal(hits$distance, unname(direct[1:4]), tolerance = 1e-12)
  expect_false(anyDuplicated(hits$receptor_id) > 0)
  expect_identical(nearest(vectors[cell, ], cells, n = 4)$distance, hits$distance)
  expect_identical(nearest(cells$receptor_id[has_vector[3]], cells, n = 4)$receptor_id, hits$receptor_id)
  of_matrix <- nearest(vectors[has_vector[1:3], ], vectors[has_vector, ], n = 2)
  expect_identical(nrow(of_matrix), 6L)
  two <- nearest(cells[, has_vector[1:2]], cells, n = 1)
  expect_identical(two$query, colnames(cells)[has_vector[1:2]])
  expect_error(nearest("nobody", cells), "has no cell or receptor nobody")
  expect_error(nearest(1:3, cells), "`x` has 3 dimensions, the receptors have 64")
  expect_error(nearest(list(), cells), "must be a vector")
})

test_that("nearest receptors of a folder are those in memory", {
  skip_if_not(has_parquet(), "neither arrow nor nanoparquet")
  cells <- read_airrvec(demo, c("flu_1", "flu_2"))
  in_results <- nearest(cells[, 1:5], demo, n = 3)
  vectors <- embeddings(demo)
  known <- as.matrix(vectors[, -1])
  rownames(known) <- vectors$receptor_id
  in_memory <- nearest(reducedDim(cells)[1:5, ], known, n = 3)
  expect_equal(in_results$distance, in_memory$distance)
  expect_identical(in_results$receptor_id, in_memory$name)
  expect_identical(nearest(cells$receptor_id[1], demo, n = 1)$receptor_id, cells$receptor_id[1])
  expect_identical(nearest(reducedDim(cells)[1, ], demo, n = 2)$distance, in_results$distance[1:2])
  expect_error(nearest("nobody", demo), "no cell or receptor")
})

test_that("embeddings of an object are a row per receptor", {
  cells <- read_airrvec(demo)
  table <- embeddings(cells)
  expect_identical(table$receptor_id, unique(cells$receptor_id))
  expect_identical(names(table)[2], "dim_01")
  expect_error(embeddings(cells, "sceptr_large"), "it|has sceptr")
})
