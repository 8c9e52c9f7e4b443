#' Nearest receptors by the distance of vectors
#'
#' Methods of [IRanges::nearest()] for vectors of receptors. The distance is Euclidean, and exact. The vectors
#' of the published models have length 1: distances lie between 0 and 2. A small distance is no annotation; the
#' AUROC of the benchmark shows how well distances predict an epitope.
#'
#' @param x What to look for: a vector, a matrix of vectors in rows, names of cells or `receptor_id` of
#'   `subject`, or an object of [read_airrvec()], whose cells are looked for.
#' @param subject Where to look: an object of [read_airrvec()], a folder of results (all receptors of the run,
#'   read part by part; this needs arrow or nanoparquet), or a matrix of vectors with row names.
#' @param n Number of neighbours.
#' @param model Name of the model, if there are several.
#' @param ... Not used.
#' @return A tibble or data frame, sorted by `query` and `rank`: `query` (name of the row, cell or receptor, or
#'   its number), `rank` from 1, `distance`, `receptor_id` (for a matrix `name`), and genes and junctions where
#'   they are known. A receptor is listed once, whatever its number of cells, and is its own neighbour at
#'   distance 0. A query without a vector has no rows.
#' @examples
#' cells <- read_airrvec(example_results())
#' nearest(colnames(cells)[1:2], cells, n = 3)
#' @name nearest
#' @aliases nearest,ANY,AirrvecExperiment-method
#' @export
setMethod("nearest", c("ANY", "AirrvecExperiment"), function(x, subject, n = 5, model = NULL, ...) {
  nearest_in_cells(x, subject, n, model)
})

#' @rdname nearest
#' @export
setMethod("nearest", c("AirrvecExperiment", "AirrvecExperiment"), function(x, subject, n = 5, model = NULL, ...) {
  nearest_in_cells(x, subject, n, model)
})

#' @rdname nearest
#' @export
setMethod("nearest", c("ANY", "character"), function(x, subject, n = 5, model = NULL, ...) {
  nearest_in_results(x, subject, n, model)
})

#' @rdname nearest
#' @export
setMethod("nearest", c("AirrvecExperiment", "character"), function(x, subject, n = 5, model = NULL, ...) {
  nearest_in_results(x, subject, n, model)
})

#' @rdname nearest
#' @export
setMethod("nearest", c("ANY", "matrix"), function(x, subject, n = 5, ...) {
  if (is.null(rownames(subject))) rownames(subject) <- as.character(seq_len(nrow(subject)))
  if (is.character(x)) x <- subject[rows_named(x, rownames(subject), "the matrix"), , drop = FALSE]
  hits <- closest(query_matrix(x, ncol(subject)), subject, n)
  names(hits)[names(hits) == "id"] <- "name"
  as_table(hits)
})

receptor_fields <- c(
  "species", "tra_v_call", "tra_j_call", "tra_junction_aa", "trb_v_call", "trb_j_call", "trb_junction_aa"
)

nearest_in_cells <- function(x, subject, n, model) {
  name <- reduced_dim_name(subject, model)
  vectors <- reducedDim(subject, name)
  first <- !duplicated(subject$receptor_id)
  if (is.character(x)) {
    rows <- match(x, colnames(subject))
    rows[is.na(rows)] <- rows_named(x[is.na(rows)], subject$receptor_id, "the object")
    query <- vectors[rows, , drop = FALSE]
    rownames(query) <- x
  } else {
    query <- query_matrix(x, ncol(vectors), name)
  }
  hits <- closest(query, vectors, n, which(first), subject$receptor_id)
  fields <- intersect(receptor_fields, names(colData(subject)))
  rows <- match(hits$id, subject$receptor_id)
  with_fields(hits, as.data.frame(colData(subject)[rows, fields, drop = FALSE], optional = TRUE))
}

nearest_in_results <- function(x, dir, n, model) {
  check_results(dir)
  model <- one_model(dir, model)
  files <- partition_files(file.path(dir, "embeddings"), model)
  if (parquet_package() == "none") needs_parquet(files[1])
  if (is.character(x)) {
    ids <- x
    parts <- parts_of_vectors(files, function(part) part[rownames(part) %in% ids, , drop = FALSE])
    x <- do.call(rbind, parts)
    x <- x[rows_named(ids, rownames(x), dir), , drop = FALSE]
  }
  query <- query_matrix(x, length(parquet_names(files[1])) - 1, toupper(model))
  hits <- parts_of_vectors(files, function(part) closest(query, part, n))
  hits <- best_of(do.call(rbind, hits), rownames(query), n)
  wanted <- c("receptor_id", receptor_fields)
  receptors <- bind_rows(lapply(partition_files(file.path(dir, "receptors"), "receptors"), function(path) {
    part <- read_parquet_columns(path, wanted)
    lapply(part, `[`, part$receptor_id %in% hits$id)
  }))
  rows <- match(hits$id, receptors$receptor_id)
  with_fields(hits, receptors[rows, intersect(receptor_fields, names(receptors)), drop = FALSE])
}

with_fields <- function(hits, fields) {
  names(hits)[names(hits) == "id"] <- "receptor_id"
  rownames(fields) <- NULL
  as_table(data.frame(hits, fields, check.names = FALSE))
}

#' What `visit` returns for the vectors of each part of the files, receptors in rows
#'
#' A part is 100,000 rows of a file with arrow, a file with nanoparquet.
#' @noRd
parts_of_vectors <- function(files, visit) {
  as_vectors <- function(columns) {
    vectors <- do.call(cbind, columns[names(columns) != "receptor_id"])
    rownames(vectors) <- columns$receptor_id
    vectors
  }
  results <- lapply(files, function(path) {
    if (parquet_package() != "arrow") return(list(visit(as_vectors(read_parquet_columns(path)))))
    old <- options(arrow.use_altrep = FALSE)
    on.exit(options(old))
    reader <- arrow::ParquetFileReader$create(path)
    groups <- lapply(seq_len(reader$num_row_groups) - 1L, function(group) {
      table <- reader$ReadRowGroup(group)
      starts <- seq(0, max(0, table$num_rows - 1), by = 100000)
      lapply(starts, function(start) {
        part <- table$Slice(start, min(100000, table$num_rows - start))
        visit(as_vectors(as.list(as.data.frame(part))))
      })
    })
    do.call(c, groups)
  })
  do.call(c, results)
}

rows_named <- function(names, known, where) {
  rows <- match(names, known)
  if (anyNA(rows)) {
    stop(where, " has no cell or receptor ", toString(utils::head(names[is.na(rows)], 3)), ".", call. = FALSE)
  }
  rows
}

query_matrix <- function(x, n_dimensions, name = NULL) {
  if (is(x, "AirrvecExperiment")) x <- reducedDim(x, name)
  if (is.data.frame(x)) x <- as.matrix(x)
  if (is.numeric(x) && is.null(dim(x))) x <- matrix(x, 1, dimnames = list("1", NULL))
  if (!is.matrix(x) || !is.numeric(x)) {
    stop("`x` must be a vector, a matrix of vectors in rows, names, or an object of read_airrvec().", call. = FALSE)
  }
  if (ncol(x) != n_dimensions) {
    stop("`x` has ", ncol(x), " dimensions, the receptors have ", n_dimensions, ".", call. = FALSE)
  }
  if (is.null(rownames(x))) rownames(x) <- as.character(seq_len(nrow(x)))
  x
}

#' The n nearest vectors of each query, as a data frame of query, rank, distance, id
#'
#' @param rows Rows of `vectors` to compare; those without a vector are left out.
#' @param ids Names of all rows.
#' @noRd
closest <- function(query, vectors, n, rows = seq_len(nrow(vectors)), ids = rownames(vectors)) {
  rows <- rows[!is.na(vectors[rows, 1])]
  query <- query[!is.na(query[, 1]), , drop = FALSE]
  if (length(rows) == 0 || nrow(query) == 0) return(no_hits)
  # Parts of both: no copy of all vectors, and at most 100 MB of distances at once.
  parts <- split(rows, (seq_along(rows) - 1) %/% 100000)
  hits <- lapply(parts, function(part) {
    some <- vectors[part, , drop = FALSE]
    blocks <- split(seq_len(nrow(query)), (seq_len(nrow(query)) - 1) %/% 100)
    lapply(blocks, function(block) closest_of_part(query[block, , drop = FALSE], some, n, ids[part]))
  })
  best_of(do.call(rbind, do.call(c, unname(hits))), rownames(query), n)
}

#' Candidates by |v|^2 - 2 q v; their distances from differences, exact where vectors are nearly the same
#' @noRd
closest_of_part <- function(query, vectors, n, ids) {
  scores <- rowSums(vectors^2) - 2 * tcrossprod(vectors, query)
  n_candidates <- min(nrow(vectors), n + 10)
  hits <- lapply(seq_len(nrow(query)), function(i) {
    limit <- sort(scores[, i], partial = n_candidates)[n_candidates]
    near <- which(scores[, i] <= limit)
    difference <- vectors[near, , drop = FALSE] - rep(query[i, ], each = length(near))
    distance <- sqrt(rowSums(difference^2))
    best <- utils::head(order(distance, ids[near], method = "radix"), n)
    data.frame(query = rownames(query)[i], rank = seq_along(best), distance = distance[best], id = ids[near[best]])
  })
  do.call(rbind, hits)
}

no_hits <- data.frame(query = character(), rank = integer(), distance = numeric(), id = character())

#' The n best of hits in several parts
#' @noRd
best_of <- function(hits, queries, n) {
  hits <- hits[order(match(hits$query, queries), hits$distance, hits$id, method = "radix"), , drop = FALSE]
  hits$rank <- as.integer(stats::ave(seq_len(nrow(hits)), hits$query, FUN = seq_along))
  hits <- hits[hits$rank <= n, , drop = FALSE]
  rownames(hits) <- NULL
  hits
}
