"""The transformer: tokens, architecture, weights."""
