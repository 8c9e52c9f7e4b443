"""airrvec: represent T-cell receptor repertoires as vectors and analyse them."""

from typing import TYPE_CHECKING

from airrvec.core import environment
from airrvec.core.version import __version__

__all__ = ["__version__", "embed", "find", "load", "match_barcodes", "nearest", "read"]

environment.check_address_space()
environment.drop_foreign_kernels()
environment.set_folders()

if TYPE_CHECKING:
    from airrvec.app.api import embed, nearest, read
    from airrvec.app.barcodes import match_barcodes
    from airrvec.app.find_api import find
    from airrvec.app.loading import load
else:

    def __dir__():
        """Return all names, those that are imported on first use among them."""
        return sorted({*globals(), *__all__})

    def __getattr__(name: str):
        """Import the notebook functions on first use: their dependencies take seconds to load."""
        if name in __all__:
            from importlib import import_module

            module = {"find": "find_api", "load": "loading", "match_barcodes": "barcodes"}.get(name, "api")
            return getattr(import_module(f"airrvec.app.{module}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
