"""Receptors divided into training, validation and test, and what a model predicts of those held out."""
