"""Presets, objectives and the training loop."""
