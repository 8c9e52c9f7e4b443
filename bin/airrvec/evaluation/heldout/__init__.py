"""Splits into training, validation and test receptors, and predictions for the held-out receptors."""
