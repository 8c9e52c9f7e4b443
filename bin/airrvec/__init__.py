"""airrvec: represent T-cell receptor repertoires as vectors and analyse them."""

from typing import TYPE_CHECKING

from airrvec.core import caches, limits, processor
from airrvec.core.version import __version__

__all__ = ["__version__", "embed", "match_barcodes", "nearest", "read"]

limits.check_address_space()
processor.set_openblas_kernels()
caches.set_folders()

if TYPE_CHECKING:
    from airrvec.app.api import embed, nearest, read
    from airrvec.app.barcodes import match_barcodes
else:

    def __getattr__(name: str):
        """Import the notebook functions on first use: their dependencies take seconds to load."""
        if name in __all__:
            from airrvec.app import api, barcodes

            return getattr(barcodes if name == "match_barcodes" else api, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
