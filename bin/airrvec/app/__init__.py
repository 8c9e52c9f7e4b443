"""Command ``airrvec``, functions for notebooks, planning of a run."""
