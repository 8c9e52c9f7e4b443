#' Read the cells of a run
#'
#' @param dir A folder of results of the pipeline or of the command.
#' @param samples Names of samples. `NULL` takes all samples of the run, without the table of labelled
#'   receptors; `"labelled"` is its name.
#' @param columns Names of the columns of cells to keep, beside `sample_id`, `cell_id` and `receptor_id`;
#'   `NULL` keeps all. Of large runs, reading fewer columns takes less time and memory.
#' @param models Names of models whose vectors to read; `NULL` takes all, `character()` none.
#' @param source What to read. `"parquet"`: the tables, with arrow or nanoparquet. `"rds"`: the objects of
#'   `--export_sce`, without either. `"tsv"`: the calls of `--annotate`, which lack vectors, clones and the class of
#'   pairing, and show the receptor of its clone for a cell that joined one. `"auto"` takes the first of these
#'   that can be read, and warns what is missing.
#'
#' @return An [AirrvecExperiment], a SingleCellExperiment whose columns are the cells, in the order of the
#'   samples and of their tables.
#' * `colnames`: `<sample>_<cell_id>`, as in Seurat and scRepertoire; unique.
#' * `colData`: the columns of `cells`, of the receptor, and of clones, calls and clusters if the run has
#'   them. `sample_id`, `call`, `call_epitope`, `chain_pairing` and columns of few words are factors,
#'   `confidence` is ordered. Columns without any value are left out, unless `columns` names them.
#' * `reducedDims`: one per model by its name in capitals, such as `SCEPTR`: cells x dimensions, `NA` for a
#'   receptor without a vector.
#' * `metadata(x)$airrvec`: the [provenance()] of the run, what was read (`read_from`), and what is `missing`.
#'
#' There is no assay and no row. An assay measures features, such as the counts of genes, in each cell;
#' receptors have none, and the dimensions of a vector mean nothing one by one. [add_airrvec()] adds receptors
#' to an object of gene expression, which has assays.
#'
#' @examples
#' cells <- read_airrvec(example_results())
#' cells
#' table(cells$sample_id, cells$chain_pairing)
#' dim(reducedDim(cells, "SCEPTR"))
#' metadata(cells)$airrvec$fdr
#' @export
read_airrvec <- function(dir, samples = NULL, columns = NULL, models = NULL,
                         source = c("auto", "parquet", "rds", "tsv")) {
  check_results(dir)
  source <- chosen_source(dir, match.arg(source))
  cells <- switch(source,
    parquet = cells_of_parquet(dir, samples, columns, models),
    rds = cells_of_rds(dir, samples, models),
    tsv = cells_of_tsv(dir, samples)
  )
  frame <- as_factors(cells$columns, cells$samples)
  always <- c("sample_id", "cell_id", "receptor_id")
  if (!is.null(columns)) {
    unknown <- setdiff(columns, names(frame))
    if (length(unknown) > 0) {
      known <- if (source == "parquet") parquet_columns(dir, cells$samples) else names(frame)
      stop("The results have no column ", toString(unknown), ". They have ", toString(known), ".", call. = FALSE)
    }
    frame <- frame[names(frame) %in% c(always, columns)]
  }
  empty <- vapply(frame, function(values) all(is.na(values)), logical(1))
  frame <- frame[!(empty & nrow_of(frame) > 0) | names(frame) %in% c(always, columns)]
  experiment <- SingleCellExperiment(
    reducedDims = cells$vectors,
    colData = DataFrame(frame, row.names = cells$names, check.names = FALSE)
  )
  run <- provenance(dir)
  if (length(run$models) == 0) run[c("models", "model", "weights_sha256")] <- models_of_object(cells$run)
  run$read_from <- if (source == "parquet") paste("Parquet, with", parquet_package()) else cells$read_from
  run$missing <- cells$missing
  if (length(cells$missing) > 0) warning(paste(cells$missing, collapse = " "), call. = FALSE)
  metadata(experiment) <- list(airrvec = run)
  new("AirrvecExperiment", experiment)
}

nrow_of <- function(columns) length(columns[[1]])

chosen_source <- function(dir, source) {
  has_rds <- length(file_stems(file.path(dir, "r"), "rds")) > 0
  has_cells <- length(file_stems(file.path(dir, "cells"), "parquet")) > 0
  has_tsv <- length(file_stems(file.path(dir, "annotation"), "tsv")) > 0
  there <- c(parquet = has_cells && parquet_package() != "none", rds = has_rds, tsv = has_tsv)
  if (source == "auto" && any(there)) return(names(there)[there][1])
  if (source != "auto" && there[[source]]) return(source)
  stop(
    "Nothing to read in ", dir, ". ",
    if (has_cells) "Its cells are Parquet files: install arrow or nanoparquet, " else "It has no cells/: ",
    "or run the pipeline with --export_sce, which writes objects (r/*.rds) that need no package, ",
    "or with --annotate, whose calls are text.",
    call. = FALSE
  )
}

# --- Parquet

cells_of_parquet <- function(dir, samples, columns, models) {
  on.exit(kept$key <- kept$table <- list())
  known <- file_stems(file.path(dir, "cells"), "parquet")
  samples <- check_samples(if (is.null(samples)) setdiff(known, "labelled") else samples, known)
  wanted <- if (is.null(columns)) NULL else c("sample_id", "cell_id", "receptor_id", columns)
  parts <- lapply(file.path(dir, "cells", paste0(samples, ".parquet")), read_parquet_columns, wanted)
  n <- vapply(parts, nrow_of, integer(1))
  frame <- bind_rows(parts)
  names <- unlist(Map(sample_cell_names, samples, lapply(parts, `[[`, "cell_id")), use.names = FALSE)
  names <- unique_names(names, frame$cell_id)
  rm(parts)
  receptors <- receptor_columns(dir, frame$receptor_id, columns)
  described <- bind_rows(Map(function(sample, rows) {
    description(dir, sample, frame$receptor_id[rows], columns)
  }, samples, split(seq_len(sum(n)), rep(factor(seq_along(n)), n))))
  joined <- join_receptors(frame, c(receptors, described))
  if (is.null(models)) models <- models_of_results(dir)
  vectors <- lapply(models, function(model) cell_vectors(dir, one_model(dir, model), frame$receptor_id, names))
  list(columns = joined, names = names, vectors = setNames(vectors, toupper(models)), samples = samples)
}

#' Names of all columns that the cells may have
#' @noRd
parquet_columns <- function(dir, samples) {
  files <- c(
    file.path(dir, "cells", paste0(samples, ".parquet")), partition_files(file.path(dir, "receptors"), "receptors")[1]
  )
  parts <- list(
    clones = c("clone_id", "clone_size"), clusters = c("cluster_id", "cluster_size"),
    annotation = c(
      "call", paste0("call_", c("epitope", "antigen_species", "mhc_a", "probability", "fdr")), "exact_epitope"
    )
  )
  made <- parts[dir.exists(file.path(dir, names(parts)))]
  unique(c(unlist(lapply(files, parquet_names)), unlist(made, use.names = FALSE)))
}

#' Names of the cells of a sample: its name and the cell_id, or the row where there is none
#' @noRd
sample_cell_names <- function(sample, cell_id) {
  if (length(cell_id) == 0) return(character())
  names <- paste0(sample, "_", ifelse(is.na(cell_id), seq_along(cell_id), cell_id))
  unique_names(names, cell_id)
}

#' The second cell with a name gets the suffix _2, the third _3; with more underscores if a cell has this name
#'
#' Names of the input come before generated ones.
#' @noRd
unique_names <- function(names, cell_id) {
  if (!anyDuplicated(names)) return(names)
  order <- order(is.na(cell_id), seq_along(names))
  repeated <- integer(length(names))
  repeated[order] <- stats::ave(seq_along(order), names[order], FUN = seq_along)
  again <- repeated > 1
  mark <- "_"
  while (any(paste0(names[again], mark, repeated[again]) %in% names[!again])) mark <- paste0(mark, "_")
  names[again] <- paste0(names[again], mark, repeated[again])
  names
}

receptor_columns <- function(dir, receptor_id, columns) {
  own <- c("receptor_id", "clonotype_id", "species", "chain_pairing") # as in cells
  files <- partition_files(file.path(dir, "receptors"), "receptors")
  fields <- setdiff(parquet_names(files[1]), own)
  if (!is.null(columns)) fields <- intersect(fields, columns)
  if (length(fields) == 0) return(list())
  receptors <- bind_rows(lapply(files, read_parquet_columns, c("receptor_id", fields)))
  place <- match(receptor_id, receptors$receptor_id)
  lapply(receptors[fields], `[`, place)
}

#' Clone, call and cluster of the cells of a sample, as in the objects of --export_sce
#' @noRd
description <- function(dir, sample, receptor_id, columns) {
  counted <- receptor_id
  found <- list(.row = seq_along(receptor_id))
  members <- members_of(dir, sample)
  if (!is.null(members)) {
    counts <- read_once(dir, "clones/counts", c("sample_id", "clone_id", "n_cells"))
    counts <- lapply(counts, `[`, counts$sample_id == sample)
    found$clone_id <- members$clone_id[match(found$.row, members$cell_row)]
    found$clone_size <- counts$n_cells[match(found$clone_id, counts$clone_id)]
    counted <- counted_receptors(members, receptor_id)
  }
  found <- c(found, sample_calls(dir, sample, counted))
  if (length(file_stems(file.path(dir, "clusters"), "(parquet|tsv)")) > 0) {
    clusters <- read_once(dir, "clusters/members", c("receptor_id", "cluster_id"))
    found$cluster_id <- clusters$cluster_id[match(counted, clusters$receptor_id)]
    sizes <- table(clusters$cluster_id)
    found$cluster_size <- as.integer(sizes)[match(found$cluster_id, names(sizes))]
  }
  found[names(found) == ".row" | is.null(columns) | names(found) %in% columns]
}

#' A table that every sample needs; kept while one call of read_airrvec runs
#' @noRd
read_once <- function(dir, stem, columns) {
  files <- file.path(dir, paste0(stem, c(".parquet", ".tsv")))
  path <- normalizePath(files[file.exists(files)][1])
  key <- paste(path, file.mtime(path))
  if (!identical(kept$key[[stem]], key)) {
    kept$key[[stem]] <- key
    is_text <- endsWith(path, ".tsv")
    kept$table[[stem]] <- if (is_text) as.list(read_tsv(path))[columns] else read_parquet_columns(path, columns)
  }
  kept$table[[stem]]
}

kept <- new.env(parent = emptyenv())
kept$key <- kept$table <- list()

members_of <- function(dir, sample) {
  if (!file.exists(file.path(dir, "clones/members.parquet"))) return(NULL)
  members <- read_once(dir, "clones/members", c("sample_id", "cell_row", "receptor_id", "clone_id", "joined"))
  lapply(members, `[`, members$sample_id == sample)
}

#' Receptor with which each cell counts: of a cell that joined a clone, that of most complete cells of the clone
#' @noRd
counted_receptors <- function(members, receptor_id) {
  joined <- which(members$joined)
  if (length(joined) == 0) return(receptor_id)
  complete <- which(!members$joined)
  pairs <- paste(members$clone_id[complete], members$receptor_id[complete])
  sizes <- sort(table(pairs), decreasing = TRUE) # ties stay in the order of the names
  clone <- sub(" .*", "", names(sizes))
  shown <- sub(".* ", "", names(sizes))[match(members$clone_id[joined], clone)]
  rows <- members$cell_row[joined]
  receptor_id[rows] <- ifelse(is.na(shown), members$receptor_id[joined], shown)
  receptor_id
}

sample_calls <- function(dir, sample, counted) {
  folder <- file.path(dir, "annotation")
  if (length(file_stems(folder, "(parquet|tsv)")) == 0) return(list())
  own <- c("receptor_id", "call", "exact_epitope")
  columns <- c(own, "epitope", "antigen_species", "mhc_a", "probability", "fdr")
  path <- file.path(folder, paste0(sample, ".parquet"))
  calls <- if (file.exists(path)) read_parquet_columns(path, columns) else as.list(find_table(folder, sample))[columns]
  if (is.null(calls$call)) return(list(call = rep(NA_character_, length(counted))))
  if (!identical(calls$receptor_id, counted)) stop("The calls of ", sample, " are of other cells.", call. = FALSE)
  masked <- lapply(calls[setdiff(names(calls), own)], function(values) {
    replace(values, !calls$call %in% "called", NA)
  })
  c(list(call = calls$call), setNames(masked, paste0("call_", names(masked))), calls["exact_epitope"])
}

#' Cells, then the fields of their receptors; metadata with the name of a field get the suffix _sample
#' @noRd
join_receptors <- function(frame, fields) {
  fields$.row <- NULL
  clash <- names(frame) %in% names(fields)
  names(frame)[clash] <- paste0(names(frame)[clash], "_sample")
  c(as.list(frame), fields)
}

#' Vectors of cells: cells x dimensions
#' @noRd
cell_vectors <- function(dir, model, receptor_id, names) {
  vectors <- NULL
  for (path in partition_files(file.path(dir, "embeddings"), model)) {
    dimensions <- setdiff(parquet_names(path), "receptor_id")
    if (is.null(vectors)) {
      vectors <- matrix(NA_real_, length(receptor_id), length(dimensions), dimnames = list(names, dimensions))
    }
    place <- match(receptor_id, read_parquet_columns(path, "receptor_id")[[1]])
    rows <- if (anyNA(place)) which(!is.na(place)) else NULL
    # A few columns at once: the whole table would be in memory twice.
    for (some in split(dimensions, (seq_along(dimensions) - 1) %/% 8)) {
      values <- read_parquet_columns(path, some)
      for (name in some) {
        own <- values[[name]]
        own[is.nan(own)] <- NA
        if (is.null(rows)) vectors[, name] <- own[place] else vectors[rows, name] <- own[place[rows]]
      }
    }
  }
  vectors
}

# --- Without Parquet

cells_of_rds <- function(dir, samples, models) {
  objects <- rds_objects(file.path(dir, "r"), samples)
  run <- metadata(objects[[1]])$airrvec
  tables <- lapply(objects, function(x) as.list(colData(x)))
  vectors <- lapply(objects, function(x) reducedDim(x, 1))
  if (length(objects) == 1) {
    columns <- tables[[1]]
    names <- colnames(objects[[1]])
    vectors <- vectors[[1]]
  } else {
    columns <- as.list(bind_rows(tables))
    names <- unique_names(unlist(lapply(objects, colnames)), columns$cell_id)
    vectors <- do.call(rbind, vectors)
    rownames(vectors) <- names
  }
  model <- if (is.null(run$model)) "sceptr" else run$model
  if (is.null(models)) models <- model
  if (!all(models %in% model)) stop("The objects of --export_sce have the vectors of ", model, " only.", call. = FALSE)
  list(
    columns = columns, names = names, vectors = setNames(list(vectors), toupper(model))[models == model],
    samples = unique(columns$sample_id), run = run, read_from = "objects of --export_sce",
    missing = character()
  )
}

#' Objects of --export_sce: that of all samples, or a part of it, or those of single samples
#' @noRd
rds_objects <- function(folder, samples) {
  read <- function(name) readRDS(file.path(folder, paste0(name, ".rds")))
  files <- file_stems(folder, "rds")
  own <- setdiff(files, "all_samples")
  if (is.null(samples) && !"all_samples" %in% files) samples <- setdiff(own, "labelled")
  if (!is.null(samples) && all(samples %in% own)) return(lapply(unique(samples), read))
  if (!"all_samples" %in% files) check_samples(samples, own)
  whole <- read("all_samples")
  if (is.null(samples)) return(list(whole))
  known <- unique(whole$sample_id)
  samples <- check_samples(samples, union(known, own))
  lapply(samples, function(sample) if (sample %in% known) whole[, whole$sample_id == sample] else read(sample))
}

cells_of_tsv <- function(dir, samples) {
  folder <- file.path(dir, "annotation")
  samples <- check_samples(samples, file_stems(folder, "tsv"))
  tables <- lapply(file.path(folder, paste0(samples, ".tsv")), read_tsv)
  names <- unlist(Map(sample_cell_names, samples, lapply(tables, `[[`, "cell_id")), use.names = FALSE)
  columns <- as.list(bind_rows(tables))
  called <- columns$call %in% "called"
  for (name in c("epitope", "antigen_species", "mhc_a", "probability", "fdr")) {
    columns[[paste0("call_", name)]] <- replace(columns[[name]], !called, NA)
    columns[[name]] <- NULL
  }
  keep <- !grepl("^(nearest|evidence)_|^(score|best_epitope|antigen_gene|mhc_b)$", names(columns))
  list(
    columns = columns[keep], names = unique_names(names, columns$cell_id), vectors = list(), samples = samples,
    read_from = "the text of the calls",
    missing = paste(
      "Read from annotation/*.tsv: vectors, chain_pairing, counts, clones, clusters and the columns of the",
      "samplesheet are missing. Install arrow or nanoparquet, or run with --export_sce."
    )
  )
}

models_of_object <- function(run) {
  if (is.null(run)) return(list(models = list(), model = NULL, weights_sha256 = NULL))
  own <- run[intersect(c("model", "weights_sha256", "airrvec_version"), names(run))]
  list(models = setNames(list(own), run$model), model = run$model, weights_sha256 = run$weights_sha256)
}
