"""airrvec: T-cell receptor repertoires as vectors, and what the vectors know."""

from airrvec.core import processor
from airrvec.core.version import __version__

__all__ = ["__version__", "embed", "nearest", "read"]

processor.name_it_for_openblas()


def __getattr__(name: str):
    """The verbs of a notebook, imported when they are used: what they need takes seconds to load."""
    if name in __all__:
        from airrvec.app import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
