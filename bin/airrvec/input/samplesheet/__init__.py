"""Samplesheet, and checks before the first task."""
