"""Epitopes of receptors, with calibrated probabilities."""
