"""Sections of fine-tuning."""
