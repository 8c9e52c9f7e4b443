test_that("cells become a SingleCellExperiment with factors, vectors and no empty column", {
  cells <- read_airrvec(demo)
  expect_s4_class(cells, "SingleCellExperiment")
  expect_true(validObject(cells))
  expect_identical(nrow(cells), 0L)
  expect_false(anyDuplicated(colnames(cells)) > 0)
  expect_true(all(startsWith(colnames(cells), paste0(cells$sample_id, "_"))))
  for (name in c("sample_id", "call", "call_epitope", "chain_pairing")) expect_s3_class(cells[[name]], "factor")
  expect_false("labelled" %in% cells$sample_id)
  expect_false(any(vapply(as.list(colData(cells)), function(x) all(is.na(x)), logical(1))))
  expect_identical(reducedDimNames(cells), "SCEPTR")
  lengths <- sqrt(rowSums(reducedDim(cells, "SCEPTR")^2))
  expect_equal(range(lengths, na.rm = TRUE), c(1, 1), tolerance = 1e-5)
})

test_that("samples, columns and models can be chosen, and errors name what there is", {
  cells <- read_airrvec(demo, c("flu_1", "ebv_1"), columns = "clone_size", models = character())
  expect_identical(levels(cells$sample_id), c("flu_1", "ebv_1"))
  expect_setequal(names(colData(cells)), c("sample_id", "cell_id", "receptor_id", "clone_size"))
  expect_length(reducedDimNames(cells), 0)
  expect_error(read_airrvec(demo, "nobody"), "no sample nobody. They have .*pbmc")
  expect_error(read_airrvec(demo, "pbmc", columns = "nothing"), "no column nothing. They have .*clone_size")
  expect_error(read_airrvec(tempfile()), "no folder")
  expect_error(read_airrvec(withr_free_tempdir()), "no folder of airrvec's results")
})

test_that("provenance names parameters, inputs, reference, versions and models", {
  run <- metadata(read_airrvec(demo, "pbmc"))$airrvec
  expect_identical(run$fdr, as.numeric(run$parameters$annotation_fdr))
  expect_identical(names(run$models), "sceptr")
  expect_match(run$weights_sha256, "^[0-9a-f]{64}$")
  expect_true(all(grepl("^[0-9a-f]{64}$", run$inputs$sha256)))
  expect_gt(nrow(run$inputs), 5)
  expect_true(all(c("source", "epitopes") %in% names(run$reference)))
  expect_match(run$versions$airrvec, "^[0-9.]+")
})

test_that("cbind fills columns, joins levels and keeps the provenance once", {
  pbmc <- read_airrvec(demo, "pbmc")
  donor <- read_airrvec(demo, "flu_1")
  expect_false(setequal(names(colData(pbmc)), names(colData(donor))))
  both <- cbind(pbmc, donor)
  expect_s4_class(both, "AirrvecExperiment")
  expect_identical(ncol(both), ncol(pbmc) + ncol(donor))
  expect_identical(names(metadata(both)), "airrvec")
  expect_identical(levels(both$sample_id), c("pbmc", "flu_1"))
  lacking <- setdiff(names(colData(pbmc)), names(colData(donor)))
  expect_true(all(is.na(both[[lacking[1]]][both$sample_id == "flu_1"])))
  expect_identical(unname(reducedDim(both)[seq_len(ncol(pbmc)), ]), unname(reducedDim(pbmc)))
  expect_error(cbind(pbmc, pbmc), "occur in several objects")
  other <- donor
  metadata(other)$airrvec$started <- "another run"
  metadata(other)$note <- "mine"
  expect_identical(names(metadata(cbind(pbmc, other))), c("airrvec", "airrvec_2", "note"))
  metadata(other)$airrvec$models$sceptr$weights_sha256 <- "other"
  expect_error(cbind(pbmc, other), "different weights")
})

test_that("text of the calls is enough, and what is missing is told", {
  folder <- copy_of_demo("cells", "r")
  expect_warning(cells <- read_airrvec(folder), "vectors, chain_pairing.* are missing")
  whole <- read_airrvec(demo, unique(as.character(cells$sample_id)))
  expect_identical(colnames(cells), colnames(whole))
  for (name in c("call", "call_epitope")) {
    expect_identical(as.character(cells[[name]]), as.character(whole[[name]]))
  }
  own <- cells$receptor_id == whole$receptor_id # else the receptor of the clone that a cell joined
  expect_gt(mean(own), 0.9)
  expect_identical(cells$trb_junction_aa[own], whole$trb_junction_aa[own])
  expect_error(nearest(colnames(cells)[1], cells), "The object has no vectors")
  expect_error(read_airrvec(copy_of_demo("cells", "r", "annotation")), "--export_sce")
})

test_that("objects and Parquet tables give the same cells", {
  skip_if_not(has_parquet(), "neither arrow nor nanoparquet")
  for (samples in list(NULL, "pbmc", c("flu_1", "ebv_1"))) {
    tables <- read_airrvec(demo, samples)
    objects <- read_airrvec(demo, samples, source = "rds")
    expect_identical(colnames(tables), colnames(objects))
    expect_setequal(names(colData(tables)), names(colData(objects)))
    for (name in names(colData(tables))) expect_equal(tables[[name]], objects[[name]], info = name)
    expect_identical(reducedDim(tables), reducedDim(objects))
  }
})

test_that("labelled receptors bind to the cells of samples", {
  skip_if_not(has_parquet(), "neither arrow nor nanoparquet")
  pbmc <- read_airrvec(demo, "pbmc")
  both <- cbind(pbmc, read_airrvec(demo, "labelled"))
  expect_true(all(is.na(both$clone_id[both$sample_id == "labelled"])))
  expect_setequal(levels(both$epitope), stats::na.omit(as.character(both$epitope)))
  expect_identical(names(metadata(both)), "airrvec")
})

test_that("names of cells are unique, as in the pipeline", {
  expect_identical(sample_cell_names("s", c("a", "a", "b", "a")), c("s_a", "s_a_2", "s_b", "s_a_3"))
  expect_identical(sample_cell_names("s", c("a", "a", "a_2")), c("s_a", "s_a__2", "s_a_2"))
  expect_identical(sample_cell_names("s", c("a", "a", "a_2", "a__2")), c("s_a", "s_a___2", "s_a_2", "s_a__2"))
  expect_identical(sample_cell_names("s", c(NA, "2", NA)), c("s_1", "s_2", "s_3"))
  expect_identical(sample_cell_names("s", c(NA, "1")), c("s_1_2", "s_1"))
  expect_identical(sample_cell_names("s", character()), character())
})

test_that("confidence is ordered", {
  expect_identical(levels(as_factors(list(confidence = c("10", NA, "2")), "s")$confidence), c("2", "10"))
  expect_identical(confidence_levels(c("high", "low", "medium")), c("low", "medium", "high"))
  labelled <- as_factors(list(confidence = c("0", "3")), "s")$confidence
  expect_true(is.ordered(labelled) && labelled[1] < labelled[2])
})

test_that("a receptor that joined a clone counts as the clone's most frequent one", {
  members <- list(
    cell_row = 1:5, clone_id = c("k", "k", "k", "k", "l"), receptor_id = c("x", "y", "y", "b", "z"),
    joined = c(FALSE, FALSE, FALSE, TRUE, TRUE)
  )
  expect_identical(counted_receptors(members, members$receptor_id), c("x", "y", "y", "y", "z"))
})
