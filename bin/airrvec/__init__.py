"""airrvec: T-cell receptor repertoires as vectors, and what the vectors know."""

from airrvec import _processor

__version__ = "0.1.0"
__all__ = ["embed", "nearest", "read"]

_processor.name_it_for_openblas()


def __getattr__(name: str):
    """The verbs of a notebook, imported when they are used: what they need takes seconds to load."""
    if name in __all__:
        from airrvec import verbs

        return getattr(verbs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
