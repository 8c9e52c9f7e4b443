"""
Encoders turn receptors into vectors or distances: one file each, one registry.

An encoder has one of these methods: ``embed(receptors)``, whose vectors are compared by Euclidean distance,
``distances(queries, references)``, or ``distance_rows(receptors)``. Names joined by ``+`` are a sum of
encoders. An encoder raises `NotMeasurable` for receptors that it cannot measure. It may have a ``kernel``,
the width in the unit of its distances for rules of the benchmark that need one.
"""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from airrvec.core.devices import DEVICES
from airrvec.core.errors import InputError, require_choice, require_extra
from airrvec.encoders.measurable import NotMeasurable, present_loci
from airrvec.encoders.own import load_file
from airrvec.model.variants import VARIANTS

import numpy as np
import pyarrow as pa
import scipy  # whose parts are imported on use

__all__ = [
    "ENCODERS",
    "NotMeasurable",
    "Titles",
    "distance_rows",
    "has_vectors",
    "load",
    "load_titled",
    "present_loci",
    "vector_distance_rows",
]

# Name → module, class and title. Modules are imported on use, because torch and numba take seconds.
ENCODERS: dict[str, tuple[str, str, str]] = {
    **{name: ("sceptr", "Sceptr", title) for name, (_, title) in VARIANTS.items()},
    "tcrdist": ("tcrdist", "Tcrdist", "TCRdist"),
    "cdr3_levenshtein": ("cdr3_levenshtein", "Cdr3Levenshtein", "CDR3 Levenshtein"),
    "tcr_bert": ("language_model", "LanguageModel", "TCR-BERT"),
    "esm2": ("language_model", "LanguageModel", "ESM2 (T6 8M)"),
    "protbert": ("language_model", "LanguageModel", "ProtBert"),
    "random": ("floors", "Random", "Random vectors"),
    "length": ("floors", "Length", "CDR3 length"),
    "v_j_genes": ("floors", "VJGenes", "V and J genes"),
}


class Titles(dict[str, str]):
    """
    Titles of encoders in reports, by name: those given, then those of `ENCODERS`.

    The title of a sum joins the titles of its parts. For all other names, ``titles[name]`` is the name.
    """

    def __missing__(self, name: str) -> str:
        if name in ENCODERS:
            return ENCODERS[name][2]
        return " + ".join(self[part] for part in name.split("+")) if "+" in name else name


def require_known(name: str) -> None:
    """Raise an `InputError` if a name is neither in `ENCODERS`, nor a file, a folder or a sum of such."""
    if name.endswith(".py") or Path(name).is_dir():
        return
    for part in name.split("+"):
        if part not in ENCODERS and not Path(part).is_dir():
            raise InputError(f"there is no encoder '{part}'", fix=f"Known: {', '.join(ENCODERS)}")


def load(name: str, *, hub_cache: str | Path | None = None, device: str = "cpu"):
    """
    Return the encoder with a name.

    Parameters
    ----------
    name : str
        A name in `ENCODERS`, the folder of a trained model, a user's Python file (which is executed), or
        names joined by ``+`` for their sum.
    hub_cache : str or Path, optional
        Folder with the weights of language models.
    device : {"cpu", "auto", "gpu"}
        Device for models, of which other encoders take no notice; see `airrvec.core.devices.choose_device`.

    Raises
    ------
    InputError
        If the name is unknown, the file breaks the contract, or weights or the device are missing.
    """
    require_choice("device", device, DEVICES)
    if name.endswith(".py"):
        return load_file(Path(name))[0]
    if Path(name).is_dir():
        return import_module(f"{__name__}.sceptr").Sceptr(name, device=device)
    if "+" in name:
        parts = [load(part, hub_cache=hub_cache, device=device) for part in name.split("+")]
        return import_module(f"{__name__}.combined").Sum(parts)
    require_known(name)
    module, class_name, title = ENCODERS[name]
    options: dict[str, str | Path | None] = {"device": device} if name in VARIANTS else {}
    if module == "language_model":
        require_extra("plm", title)
        options = {"hub_cache": hub_cache, "device": device}
    encoder_class = getattr(import_module(f"{__name__}.{module}"), class_name)
    return encoder_class(name, **options) if options else encoder_class()


def load_titled(source: str, name: str, **options) -> tuple[object, str]:
    """
    Return an encoder and its title.

    Parameters
    ----------
    source : str
        The ``name`` of `load`.
    name : str
        Name in the tables; the title follows from it, unless ``source`` is a Python file with a ``TITLE``.
    **options
        Other arguments of `load`.
    """
    if source.endswith(".py"):
        return load_file(Path(source))
    return load(source, **options), Titles()[name]


def has_vectors(encoder) -> bool:
    """Return whether an encoder gives vectors, not only distances."""
    return hasattr(encoder, "embed")


def distance_rows(encoder, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
    """
    Return a function that computes rows of the distance matrix.

    Parameters
    ----------
    encoder
        From `load`.
    receptors : pyarrow.Table
        ``receptors``; embedded once.

    Returns
    -------
    callable
        Row numbers, shape (n,) → distances to all receptors, shape (n, n_receptors).
    """
    if hasattr(encoder, "distance_rows"):
        return encoder.distance_rows(receptors)
    if has_vectors(encoder):
        return vector_distance_rows(encoder.embed(receptors))
    return lambda rows: encoder.distances(receptors.take(pa.array(rows)), receptors)


def vector_distance_rows(vectors: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the function of `distance_rows` for receptors whose vectors, shape (n, d), are known."""
    return lambda rows: scipy.spatial.distance.cdist(vectors[rows], vectors).astype(np.float32)
