# Types of the columns of cells.

calls_levels <- c("called", "no call", "no vector", "not calibrated", "innate-like")
# scirpy's classes, of whole receptors first.
pairing_levels <- c(
  "single pair", "extra VJ", "extra VDJ", "two full chains", "orphan VJ", "orphan VDJ", "multichain", "ambiguous",
  "no IR"
)
factor_columns <- c(
  "species", "count_unit", "innate_like", "epitope", "antigen_species", "mhc_class", "split", "call_epitope",
  "call_antigen_species", "call_mhc_a", "chains"
)

as_factors <- function(columns, samples) {
  known <- intersect(names(columns), c("sample_id", "call", "chain_pairing", "confidence", factor_columns))
  for (name in known) {
    values <- as.character(columns[[name]])
    levels <- switch(name,
      sample_id = samples,
      call = union(calls_levels, present(values)),
      chain_pairing = union(pairing_levels, present(values)),
      confidence = confidence_levels(values),
      present(values)
    )
    if (name %in% c("call", "chain_pairing")) levels <- levels[levels %in% values]
    columns[[name]] <- factor(values, levels, ordered = name == "confidence")
  }
  columns
}

present <- function(values) sort(unique(values[!is.na(values)]), method = "radix")

#' Levels of confidence, least first: numbers by their value, low, medium and high in this order
#' @noRd
confidence_levels <- function(values) {
  levels <- present(values)
  if (all(grepl("^[+-]?[0-9]*\\.?[0-9]+$", levels))) return(levels[order(as.numeric(levels))])
  words <- c("very low", "low", "medium", "moderate", "high", "very high")
  levels[order(match(tolower(levels), words), levels, method = "radix")]
}
