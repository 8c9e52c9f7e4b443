"""
Whatever turns receptors into vectors or distances: one file each, one registry.

An encoder has either ``embed(receptors)``, vectors compared by their Euclidean
distance, or ``distances(queries, references)``. Names joined by ``+`` are the sum of
encoders, which has ``distance_rows(receptors)``.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.spatial.distance import cdist

from airrvec.errors import InputError
from airrvec.variants import VARIANTS

# name → module, class and title; imported when used, as torch and numba take seconds.
ENCODERS: dict[str, tuple[str, str, str]] = {
    **{name: ("sceptr", "Sceptr", title) for name, (_, title) in VARIANTS.items()},
    "tcrdist": ("tcrdist", "Tcrdist", "TCRdist"),
    "cdr3_levenshtein": ("cdr3_levenshtein", "Cdr3Levenshtein", "CDR3 Levenshtein"),
}


def title(name: str) -> str:
    """What people call an encoder; its name where the registry does not know it."""
    return " + ".join(ENCODERS[part][2] if part in ENCODERS else part for part in name.split("+"))


def load(name: str):
    """
    The encoder of a name, or of the folder of an own model; a sum of encoders if ``+`` joins several.

    Raises
    ------
    InputError
        If no encoder has the name.
    """
    if Path(name).is_dir():
        return import_module(f"{__name__}.sceptr").Sceptr(name)
    if "+" in name:
        return import_module(f"{__name__}.sum").Sum([load(part) for part in name.split("+")])
    if name not in ENCODERS:
        raise InputError(f"there is no encoder '{name}'", fix=f"Known: {', '.join(ENCODERS)}")
    module, class_name, _ = ENCODERS[name]
    encoder_class = getattr(import_module(f"{__name__}.{module}"), class_name)
    return encoder_class(name) if name in VARIANTS else encoder_class()


def distance_rows(encoder, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
    """
    Distances of some receptors to all, block by block.

    Parameters
    ----------
    encoder
        From `load`.
    receptors : pyarrow.Table
        The receptors; embedded once.

    Returns
    -------
    callable
        Row numbers, shape (n,) → distances, shape (n, n_receptors).
    """
    if hasattr(encoder, "distance_rows"):
        return encoder.distance_rows(receptors)
    if hasattr(encoder, "embed"):
        vectors = encoder.embed(receptors)
        return lambda rows: cdist(vectors[rows], vectors).astype(np.float32)
    return lambda rows: encoder.distances(receptors.take(pa.array(rows)), receptors)
