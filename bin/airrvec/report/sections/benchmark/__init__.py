"""Sections of the few-shot benchmark."""
