# Tables of a run, a verb each.

#' AUROC of the few-shot benchmark
#'
#' @param dir A folder of results, of a run with `--labelled` or a labelled row in its samplesheet.
#' @param epitope,encoder,rule,k Keep these values only; `NULL` keeps all. `epitope = "mean"` is the mean over
#'   epitopes.
#' @param chains,test_set,excluded The same. The defaults are the setting of the paper.
#' @return A tibble, or a data frame where tibble is not installed: one row per encoder, rule, epitope and k,
#'   with `auroc_mean`, `auroc_std`, `auroc_se` and the other columns of `benchmark/auroc_summary`.
#' @examples
#' auroc(example_results(), epitope = "mean", rule = "nearest_neighbour", k = 10)
#' @export
auroc <- function(dir, epitope = NULL, encoder = NULL, rule = NULL, k = NULL, chains = NULL,
                  test_set = NULL, excluded = NULL) {
  table <- must_find_table(dir, "benchmark/auroc_summary", "labelled receptors (--labelled)")
  wanted <- list(
    epitope = epitope, encoder = encoder, rule = rule, k = k, chains = chains, test_set = test_set,
    excluded = excluded
  )
  for (name in names(wanted)) {
    values <- wanted[[name]]
    if (is.null(values)) next
    unknown <- setdiff(values, table[[name]])
    if (length(unknown) > 0) {
      known <- unique(table[[name]])
      stop("The benchmark has no ", name, " ", toString(unknown), ". It has ", toString(known), ".", call. = FALSE)
    }
    table <- table[table[[name]] %in% values, , drop = FALSE]
  }
  as_table(table)
}

#' Calls of epitopes, a row per cell
#'
#' @param dir A folder of results, of a run with `--annotate`.
#' @param samples Names of samples; `NULL` for all.
#' @param called `TRUE` keeps only the cells that are called.
#' @return A tibble or data frame with the columns of `annotation/<sample>`: `sample_id`, `cell_id`, the
#'   receptor, `call` (a factor), `epitope`, `probability`, `fdr` and the evidence. `fdr` is the expected
#'   share of false calls among the cells of the sample with at least this score.
#' @examples
#' called <- calls(example_results(), called = TRUE)
#' table(called$sample_id, called$epitope)
#' @export
calls <- function(dir, samples = NULL, called = FALSE) {
  check_results(dir)
  folder <- file.path(dir, "annotation")
  known <- union(file_stems(folder, "parquet"), file_stems(folder, "tsv"))
  if (length(known) == 0) stop(dir, " has no calls: the run was made without --annotate.", call. = FALSE)
  samples <- check_samples(samples, known)
  table <- bind_rows(lapply(samples, function(sample) find_table(folder, sample)))
  if (called) table <- table[table$call %in% "called", , drop = FALSE]
  as_table(as_factors(table, samples))
}

#' Clones of a run
#'
#' @param dir A folder of results.
#' @param by `"clone"`: one row per clone of a donor. `"sample"`: one row per clone and sample that has it.
#' @return A tibble or data frame with the columns of `clones/clones`; by sample those of `clones/counts`:
#'   `clone_id`, `sample_id`, `n_cells`, `share`. Without arrow and nanoparquet, the counts come from
#'   `clones/clones_by_sample.tsv` and have no column but these three and `count_unit`.
#' @examples
#' head(clones(example_results()))
#' counts <- clones(example_results(), by = "sample")
#' xtabs(n_cells ~ clone_id + sample_id, counts)[1:3, ]
#' @export
clones <- function(dir, by = c("clone", "sample")) {
  by <- match.arg(by)
  if (by == "clone") return(as_table(must_find_table(dir, "clones/clones", "samples")))
  check_results(dir)
  wide <- file.path(dir, "clones/clones_by_sample.tsv")
  if (parquet_package() == "none" && file.exists(wide)) {
    counts <- long_counts(read_tsv(wide))
  } else {
    counts <- must_find_table(dir, "clones/counts", "samples")
  }
  counts$sample_id <- factor(counts$sample_id, unique(counts$sample_id))
  as_table(counts)
}

long_counts <- function(wide) {
  columns <- grep("^n_cells ", names(wide), value = TRUE)
  samples <- sub("^n_cells ", "", columns)
  counts <- unlist(wide[columns], use.names = FALSE)
  table <- data.frame(
    clone_id = rep(wide$clone_id, length(samples)), sample_id = rep(samples, each = nrow(wide)),
    n_cells = as.numeric(counts), count_unit = rep(wide$count_unit, length(samples)), stringsAsFactors = FALSE
  )
  table[!is.na(table$n_cells) & table$n_cells > 0, , drop = FALSE]
}

#' Clusters of similar receptors
#'
#' @param dir A folder of results, of a run with `--cluster`.
#' @param members `TRUE`: one row per receptor, with its cluster and neighbours.
#' @return A tibble or data frame with the columns of `clusters/clusters` or `clusters/members`.
#' @examples
#' clusters(example_results())[, c("centre", "n_receptors", "n_samples", "epitope")]
#' @export
clusters <- function(dir, members = FALSE) {
  as_table(must_find_table(dir, if (members) "clusters/members" else "clusters/clusters", "--cluster"))
}

#' Vectors of receptors
#'
#' @param x A folder of results, or an object of [read_airrvec()].
#' @param model Name of the model, such as `"sceptr"`. It may be left out if there is one.
#' @return A tibble or data frame, one row per receptor: `receptor_id`, `dim_01`, `dim_02`, ... A receptor
#'   without a vector has `NA`. [nearest()] compares vectors; those of two models cannot be compared.
#' @examples
#' vectors <- embeddings(read_airrvec(example_results(), "pbmc"))
#' dim(vectors)
#' @export
embeddings <- function(x, model = NULL) {
  if (is(x, "AirrvecExperiment")) {
    vectors <- reducedDim(x, reduced_dim_name(x, model))
    first <- !duplicated(x$receptor_id)
    table <- data.frame(receptor_id = x$receptor_id[first], vectors[first, , drop = FALSE], row.names = NULL)
    return(as_table(table))
  }
  check_results(x)
  model <- one_model(x, model)
  if (parquet_package() == "none") needs_parquet(file.path(x, "embeddings", model))
  as_table(bind_rows(lapply(partition_files(file.path(x, "embeddings"), model), read_parquet_columns)))
}

#' Calibration of the calls: probabilities and how often they are right
#'
#' @param dir A folder of results, of a run with `--annotate`.
#' @return A tibble or data frame with the columns of `annotation/reference/calibration`: one row per species,
#'   class of chains and bin of probabilities; [plot_reliability()] draws it.
#' @examples
#' head(reliability(example_results()))
#' @export
reliability <- function(dir) {
  as_table(must_find_table(dir, "annotation/reference/calibration", "--annotate"))
}

check_samples <- function(samples, known) {
  if (is.null(samples)) return(known)
  unknown <- setdiff(samples, known)
  if (length(unknown) > 0) {
    stop("The results have no sample ", toString(unknown), ". They have ", toString(known), ".", call. = FALSE)
  }
  unique(samples)
}

models_of_results <- function(dir) {
  folder <- file.path(dir, "embeddings")
  partitioned <- basename(list.dirs(folder, recursive = FALSE))
  sort(c(file_stems(folder, "parquet"), partitioned), method = "radix")
}

one_model <- function(dir, model = NULL) {
  known <- models_of_results(dir)
  if (is.null(model) && length(known) == 1) return(known)
  if (is.null(model) || !model %in% known) {
    stop("Choose a `model`: the results have ", toString(known), ".", call. = FALSE)
  }
  model
}
