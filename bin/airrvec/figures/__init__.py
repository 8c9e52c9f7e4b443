"""Figures, and pages that people open in a browser."""
