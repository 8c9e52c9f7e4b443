"""Few-shot prediction of epitopes, and specificity on receptors held out."""
