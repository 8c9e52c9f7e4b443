"""Generation probabilities, synthetic receptors, and background receptors."""
