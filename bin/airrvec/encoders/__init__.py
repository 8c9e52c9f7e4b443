"""
Encoders turn receptors into vectors or distances: one file each, one registry.

An encoder has either ``embed(receptors)``, whose vectors are compared by Euclidean distance, or
``distances(queries, references)``. Names joined by ``+`` are a sum of encoders, which has
``distance_rows(receptors)``. An encoder raises `NotMeasurable` for receptors that it cannot measure.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.spatial.distance import cdist

from airrvec.core.errors import InputError
from airrvec.encoders.measurable import NotMeasurable, present_loci
from airrvec.model.variants import VARIANTS

__all__ = [
    "ENCODERS",
    "TITLES",
    "NotMeasurable",
    "distance_rows",
    "load",
    "present_loci",
    "title",
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

# Title of each encoder in reports. Reporting scripts add the titles of users' own encoders.
TITLES = {name: title for name, (_, _, title) in ENCODERS.items()}


def title(name: str) -> str:
    """Return the title of an encoder in reports; its name if it has no title."""
    return TITLES.get(name) or " + ".join(TITLES.get(part, part) for part in name.split("+"))


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
        Device for models; ``auto`` and ``gpu`` use a GPU if there is one.

    Raises
    ------
    InputError
        If the name is unknown, the file defines no encoder, or weights are missing.
    """
    if name.endswith(".py"):
        return _from_file(Path(name))
    if Path(name).is_dir():
        return import_module(f"{__name__}.sceptr").Sceptr(name, device=device)
    if "+" in name:
        parts = [load(part, hub_cache=hub_cache, device=device) for part in name.split("+")]
        return import_module(f"{__name__}.sum").Sum(parts)
    if name not in ENCODERS:
        raise InputError(f"there is no encoder '{name}'", fix=f"Known: {', '.join(ENCODERS)}")
    module, class_name, _ = ENCODERS[name]
    encoder_class = getattr(import_module(f"{__name__}.{module}"), class_name)
    if module == "language_model":
        return encoder_class(name, hub_cache=hub_cache, device=device)
    return encoder_class(name, device=device) if name in VARIANTS else encoder_class()


def _from_file(path: Path):
    """Return what ``encoder()`` of a Python file returns, and add the file's ``TITLE`` to `TITLES`."""
    if not path.is_file():
        raise InputError(f"there is no file '{path}'", fix="--encoder takes Python files")
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [name for name in ("encoder", "TITLE") if not hasattr(module, name)]
    if missing:
        raise InputError(f"defines no {missing[0]}", file=path, fix="See docs/guides/adding_an_encoder.md")
    made = module.encoder()
    if not any(hasattr(made, name) for name in ("embed", "distances", "distance_rows")):
        raise InputError(
            "its encoder() has neither embed nor distances",
            file=path,
            fix="See docs/guides/adding_an_encoder.md",
        )
    TITLES[path.stem] = module.TITLE
    return made


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
    if hasattr(encoder, "embed"):
        vectors = encoder.embed(receptors)
        return lambda rows: cdist(vectors[rows], vectors).astype(np.float32)
    return lambda rows: encoder.distances(receptors.take(pa.array(rows)), receptors)
