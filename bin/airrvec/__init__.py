"""airrvec: T-cell receptor repertoires as vectors, and what the vectors know."""

__version__ = "0.1.0"
