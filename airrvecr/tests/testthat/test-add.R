cells <- read_airrvec(demo)
pbmc <- which(cells$sample_id == "pbmc")[1:6]
barcodes <- c(paste0("gex_", sub("-1$", "", cells$cell_id[pbmc])), "gex_TTTTTTTTTTTTTTTT")

expression <- function() {
  SingleCellExperiment(list(counts = matrix(0L, 1, length(barcodes), dimnames = list("gene", barcodes))))
}

test_that("receptors are added to a SingleCellExperiment", {
  expect_warning(x <- add_airrvec(expression(), cells, samples = c(gex = "pbmc")), "1 of 7 names have no cell")
  expect_identical(x$match, rep(c("matched", "unmatched"), c(6, 1)))
  expect_identical(x$trb_junction_aa[1:6], cells$trb_junction_aa[pbmc])
  expect_identical(unname(reducedDim(x, "SCEPTR")[1:6, ]), unname(reducedDim(cells)[pbmc, ]))
  expect_true(all(is.na(reducedDim(x, "SCEPTR")[7, ])))
  expect_identical(names(metadata(x)), "airrvec")
  expect_false("input_rows" %in% names(colData(x)))
})

test_that("nothing is overwritten without a word", {
  x <- expression()
  x$clone_id <- "mine"
  add <- function(...) suppressWarnings(add_airrvec(x, cells, samples = c(gex = "pbmc"), ...))
  expect_error(add(), "already has clone_id. Give `prefix`")
  expect_true(all(add(prefix = "tcr_")$clone_id == "mine"))
  expect_identical(add(overwrite = TRUE)$clone_id[1:6], cells$clone_id[pbmc])
  expect_identical(names(colData(add(columns = "call"))), c("clone_id", "match", "match_reason", "call"))
  reducedDim(x, "SCEPTR") <- matrix(0, 7, 2)
  expect_error(add(prefix = "tcr_"), "already has SCEPTR")
  expect_identical(dim(reducedDim(add(prefix = "tcr_", vectors = FALSE), "SCEPTR")), c(7L, 2L))
  expect_error(add(prefix = "a_", columns = "nothing"), "no column nothing")
  expect_error(add_airrvec(1, cells), "must be a Seurat object")
})

test_that("receptors are added to a Seurat object", {
  skip_if_not_installed("SeuratObject")
  counts <- as(matrix(1, 2, 7, dimnames = list(c("gene1", "gene2"), barcodes)), "CsparseMatrix")
  seurat <- SeuratObject::CreateSeuratObject(counts)
  add <- function(...) suppressWarnings(add_airrvec(seurat, cells, samples = c(gex = "pbmc"), ...))
  x <- add(prefix = "tcr_")
  expect_identical(unname(x$tcr_trb_junction_aa[1:6]), cells$trb_junction_aa[pbmc])
  vectors <- SeuratObject::Embeddings(x, "sceptr")
  expect_identical(rownames(vectors), barcodes)
  expect_equal(unname(vectors[1:6, ]), unname(reducedDim(cells)[pbmc, ]))
  expect_true(all(is.na(vectors[7, ])))
  expect_identical(SeuratObject::Misc(x, "airrvec")$model, "sceptr")
  seurat$call <- "mine"
  expect_error(add(), "already has call")
})

test_that("cells come in the form of scRepertoire", {
  lists <- as_screpertoire(cells[, cells$sample_id %in% c("pbmc", "flu_1")])
  expect_identical(names(lists), c("flu_1", "pbmc"))
  one <- lists$pbmc
  expect_identical(names(one), c(
    "barcode", "sample", "TCR1", "cdr3_aa1", "cdr3_nt1", "TCR2", "cdr3_aa2", "cdr3_nt2", "CTgene", "CTnt", "CTaa",
    "CTstrict"
  ))
  expect_identical(one$barcode[1:6], colnames(cells)[pbmc])
  paired <- which(!is.na(one$TCR1) & !is.na(one$TCR2))[1]
  expect_match(one$TCR1[paired], "^TRAV[^.*]+\\.TRAJ[^.*]+\\.None$")
  expect_match(one$TCR2[paired], "^TRBV[^.*]+\\.None\\.TRBJ[^.*]+\\.None$")
  expect_identical(one$CTaa[paired], paste0(one$cdr3_aa1[paired], "_", one$cdr3_aa2[paired]))
  skip_if_not(has_parquet(), "neither arrow nor nanoparquet")
  whole <- as_screpertoire(cells[, cells$sample_id == "pbmc"], demo)$pbmc
  expect_match(whole$TCR2[paired], "TRBC[12]$")
  expect_identical(nchar(whole$cdr3_nt2[paired]), 3L * nchar(whole$cdr3_aa2[paired]))
})

test_that("chains come in the form of immundata", {
  file <- tempfile(fileext = ".tsv")
  table <- as_immundata(cells, file = file)
  expect_identical(nrow(table), sum(!is.na(cells$tra_junction_aa)) + sum(!is.na(cells$trb_junction_aa)))
  expect_identical(unique(table$cell_id), colnames(cells))
  expect_identical(nchar(table$cdr3_aa), nchar(table$junction_aa) - 2L)
  expect_identical(nrow(read.delim(file)), nrow(table))
  skip_if_not(has_parquet(), "neither arrow nor nanoparquet")
  whole <- as_immundata(cells[, cells$sample_id == "pbmc"], demo)
  expect_true(all(!is.na(whole$umi_count)))
})

test_that("figures are drawn", {
  skip_if_not_installed("ggplot2")
  for (plot in list(
    plot_auroc(demo), plot_auroc(auroc(demo), rule = "nearest_neighbour"), plot_clones(demo), plot_reliability(demo)
  )) {
    expect_s3_class(plot, "ggplot")
    file <- tempfile(fileext = ".png")
    ggplot2::ggsave(file, plot, width = 6, height = 4, dpi = 50)
    expect_gt(file.size(file), 1000)
  }
  expect_error(plot_auroc(demo, epitope = "nothing"), "no rows")
})
