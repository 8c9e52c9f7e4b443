"""Epitope annotation of receptors, with calibrated probabilities."""
