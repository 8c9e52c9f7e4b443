"""AUROC, rank tests, permutation tests."""
