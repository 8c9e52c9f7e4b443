"""Figures and browser pages."""
