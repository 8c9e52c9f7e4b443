"""Few-shot prediction of epitopes, and specificity on held-out receptors."""
