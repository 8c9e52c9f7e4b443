"""airrvec: represent T-cell receptor repertoires as vectors and analyse them."""

from typing import TYPE_CHECKING

from airrvec.core import environment
from airrvec.core.version import __version__

# Function → its module in `airrvec.app`, imported on first use: their dependencies take seconds to load.
_MODULES = {
    "annotate": "verb_api",
    "benchmark": "learning_api",
    "clones": "verb_api",
    "cluster": "verb_api",
    "compare": "verb_api",
    "embed": "api",
    "find": "find_api",
    "finetune": "learning_api",
    "load": "loading",
    "match_barcodes": "barcodes",
    "nearest": "api",
    "pretrain": "learning_api",
    "read": "api",
    "reference": "verb_api",
}

__all__ = [
    "__version__",
    "annotate",
    "benchmark",
    "clones",
    "cluster",
    "compare",
    "embed",
    "find",
    "finetune",
    "load",
    "match_barcodes",
    "nearest",
    "pretrain",
    "read",
    "reference",
]

environment.check_address_space()
environment.drop_foreign_kernels()
environment.set_folders()

if TYPE_CHECKING:
    from airrvec.app.api import embed, nearest, read
    from airrvec.app.barcodes import match_barcodes
    from airrvec.app.find_api import find
    from airrvec.app.learning_api import benchmark, finetune, pretrain
    from airrvec.app.loading import load
    from airrvec.app.verb_api import annotate, clones, cluster, compare, reference
else:

    def __dir__():
        """Return the names to use, which are imported on first use."""
        return sorted(__all__)

    def __getattr__(name: str):
        """Import a function on first use."""
        if name in _MODULES:
            from importlib import import_module

            return getattr(import_module(f"airrvec.app.{_MODULES[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
