"""Inference on CPUs."""
