# Figures, each of a table of a run.

needs_ggplot2 <- function() {
  if (!requireNamespace("ggplot2", quietly = TRUE)) stop("Install ggplot2 to draw figures.", call. = FALSE)
}

# Columns of tables in aes().
utils::globalVariables(c(
  "auroc_mean", "auroc_se", "encoder", "k", "sample_id", "share", "clone_size", "probability", "observed", "n", "chains"
))

#' Figures of a run
#'
#' `plot_auroc()`: AUROC against the number of references k, a panel per rule, with standard errors. 0.5 is chance.
#' `plot_clones()`: the share of cells in clones of each class of size, a bar per sample.
#' `plot_reliability()`: how often calls are right against their probability. On the diagonal, a probability of 0.8
#' is right in 80 %.
#'
#' @param x A folder of results, or a table: of [auroc()], `samples/clone_sizes` or [reliability()].
#' @param epitope The epitope; `"mean"` is the mean over epitopes.
#' @param rule Rules to draw; `NULL` draws all.
#' @return A ggplot: add scales, titles and themes.
#' @examples
#' if (requireNamespace("ggplot2", quietly = TRUE)) {
#'   plot_auroc(example_results(), rule = "nearest_neighbour")
#'   plot_clones(example_results())
#'   plot_reliability(example_results())
#' }
#' @name figures
#' @export
plot_auroc <- function(x, epitope = "mean", rule = NULL) {
  needs_ggplot2()
  table <- if (is.character(x)) auroc(x) else x
  setting <- table[1, ] # chains, test set and exclusion that were measured first, as in the report
  for (name in intersect(c("chains", "test_set", "excluded"), names(table))) {
    table <- table[table[[name]] == setting[[name]], , drop = FALSE]
  }
  table <- table[table$epitope %in% epitope & (is.null(rule) | table$rule %in% rule), , drop = FALSE]
  if (nrow(table) == 0) stop("The table has no rows for this epitope and rule.", call. = FALSE)
  bars <- table[!is.na(table$auroc_se), , drop = FALSE]
  ggplot2::ggplot(table, ggplot2::aes(k, auroc_mean, colour = encoder)) +
    ggplot2::geom_hline(yintercept = 0.5, linetype = "dotted", colour = "grey50") +
    ggplot2::geom_linerange(
      ggplot2::aes(ymin = auroc_mean - auroc_se, ymax = auroc_mean + auroc_se), bars, show.legend = FALSE
    ) +
    ggplot2::geom_line() +
    ggplot2::geom_point() +
    ggplot2::scale_x_log10(breaks = sort(unique(table$k))) +
    ggplot2::facet_wrap(if (length(epitope) > 1) c("epitope", "rule") else "rule") +
    ggplot2::labs(x = "references of the epitope (k)", y = "AUROC", colour = NULL) +
    ggplot2::theme_minimal()
}

#' @rdname figures
#' @export
plot_clones <- function(x) {
  needs_ggplot2()
  table <- if (is.character(x)) must_find_table(x, "samples/clone_sizes", "samples") else x
  table <- as.data.frame(table)
  classes <- c("Hyperexpanded", "Large", "Medium", "Small", "Rare")
  table$clone_size <- factor(table$clone_size, classes)
  table$sample_id <- factor(table$sample_id, rev(unique(table$sample_id)))
  ggplot2::ggplot(table, ggplot2::aes(share, sample_id, fill = clone_size)) +
    ggplot2::geom_col(position = ggplot2::position_stack(reverse = TRUE)) +
    ggplot2::scale_x_continuous(labels = function(share) paste0(100 * share, " %")) +
    ggplot2::scale_fill_viridis_d(option = "magma", begin = 0.15, end = 0.9, direction = 1) +
    ggplot2::labs(x = "share of the cells", y = NULL, fill = "size of the clone") +
    ggplot2::theme_minimal()
}

#' @rdname figures
#' @export
plot_reliability <- function(x) {
  needs_ggplot2()
  table <- as.data.frame(if (is.character(x)) reliability(x) else x)
  if (nrow(table) == 0) stop("The calls have no calibration: all tested receptors are in one fold.", call. = FALSE)
  table$n <- table$n_labelled + table$n_background
  table <- table[table$n > 0, , drop = FALSE]
  ggplot2::ggplot(table, ggplot2::aes(probability, observed, colour = chains)) +
    ggplot2::geom_abline(linetype = "dotted", colour = "grey50") +
    ggplot2::geom_line() +
    ggplot2::geom_point(ggplot2::aes(size = n)) +
    ggplot2::scale_size_area(trans = "sqrt", max_size = 5) +
    ggplot2::coord_equal(xlim = c(0, 1), ylim = c(0, 1)) +
    ggplot2::facet_grid(species ~ prevalence, labeller = ggplot2::labeller(prevalence = function(share) {
      paste0(100 * as.numeric(share), " % labelled in the mixture")
    })) +
    ggplot2::labs(x = "probability of the call", y = "share that is right", colour = NULL, size = "receptors") +
    ggplot2::theme_minimal()
}
