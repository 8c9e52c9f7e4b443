"""Presets, losses, views, the loop, and the folder of a trained model."""
