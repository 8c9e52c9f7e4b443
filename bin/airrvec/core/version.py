"""The version of airrvec."""

__version__ = "0.1.0"
