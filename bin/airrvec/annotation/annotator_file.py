"""An annotator as a file of NumPy arrays, without pickled objects."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from airrvec.annotation.annotator import Annotator
from airrvec.annotation.calibration import CalibrationScores
from airrvec.annotation.candidates import Candidates
from airrvec.annotation.reference_set import DESCRIPTION, ReferenceSet
from airrvec.annotation.scorer import Scorer
from airrvec.annotation.sources import COMPARED, Sources
from airrvec.core import schema, tables

_RECEPTOR = ("receptor_id", "clonotype_id", "species", *schema.RECEPTOR_FIELDS)
_SCORER = tuple(Scorer.__annotations__)


def save(annotator: Annotator, path: Path) -> None:
    """Write an annotator; the stem of the file's name has to end with ``_`` and its chains."""
    sources, scores = annotator.sources, annotator.scores
    arrays = {"min_references": np.array(sources.min_references)}
    for name in _RECEPTOR:
        arrays[f"contrast_{name}"] = _plain(sources.contrast[name].to_pandas())
    for chains, reference in sources.references.items():
        # Of other classes, nothing but labels and vectors is compared.
        columns = (*_RECEPTOR, *DESCRIPTION) if chains == sources.chains else ("clonotype_id",)
        found = {
            **{f"receptors_{name}": _plain(reference.receptors[name].to_pandas()) for name in columns},
            **{f"epitopes_{name}": _plain(values) for name, values in reference.epitopes.items()},
            "labels": np.stack(reference.labels.nonzero()),
            "studies": np.stack(reference.studies.nonzero()),
            "study_names": np.array(reference.study_names, str),
            **{f"alleles_{name}": _plain(values) for name, values in reference.alleles.items()},
            "vectors": sources.vectors[chains],
            "contrast": sources.contrast_vectors[chains],
        }
        arrays |= {f"{chains}_{name}": values for name, values in found.items()}
    arrays |= {f"scorer_{name}": np.asarray(getattr(annotator.scorer, name)) for name in _SCORER}
    for name, candidates in (("labelled", scores.labelled), ("negatives", scores.background)):
        arrays[f"{name}_scores"] = candidates.scores.data
        arrays[f"{name}_epitopes"] = candidates.scores.indices
        arrays[f"{name}_starts"] = candidates.scores.indptr
        arrays[f"{name}_floor"] = candidates.floor
    arrays["binds"] = np.stack(scores.binds.nonzero())
    with tables.atomic_path(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, **arrays)


def load(path: Path, embed: Callable[[pa.Table], np.ndarray], *, threads: int = 1) -> Annotator:
    """
    Read a file written by `save`.

    Parameters
    ----------
    path : Path
        The stem of its name ends with ``_`` and the chains.
    embed : callable
        Vectors of receptors by the model that made the file's vectors.
    threads : int
        Number of threads.
    """
    with np.load(path, allow_pickle=False) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    chains = Path(path).stem.split("_")[-1]
    references = {name: _reference(_part(values, name)) for name in COMPARED[chains]}
    sources = Sources(
        chains,
        references,
        {name: values[f"{name}_vectors"] for name in references},
        pa.table({name: _nullable(column) for name, column in _part(values, "contrast").items()}),
        {name: values[f"{name}_contrast"] for name in references},
        embed,
        int(values["min_references"]),
        threads,
    )
    n_epitopes = len(sources.reference.epitopes)
    scorer = {name: values[f"scorer_{name}"] for name in _SCORER}
    scorer |= {name: float(scorer[name]) for name in ("threshold", "start")}
    scores = CalibrationScores(
        *(_candidates(_part(values, name), n_epitopes) for name in ("labelled", "negatives")),
        _matrix(values["binds"], (len(values["labelled_floor"]), n_epitopes)),
    )
    return Annotator(sources, Scorer(**scorer), scores)


def _part(values: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the arrays whose name begins with this one, without it."""
    start = f"{name}_"
    return {key.removeprefix(start): found for key, found in values.items() if key.startswith(start)}


def _reference(values: dict[str, np.ndarray]) -> ReferenceSet:
    receptors = pa.table({name: _nullable(column) for name, column in _part(values, "receptors").items()})
    epitopes = pd.DataFrame(_part(values, "epitopes")).replace("", None)
    n = len(receptors)
    return ReferenceSet(
        receptors,
        epitopes,
        _matrix(values["labels"], (n, len(epitopes))),
        _matrix(values["studies"], (n, len(values["study_names"]))),
        values["study_names"].tolist(),
        pd.DataFrame(_part(values, "alleles")),
    )


def _candidates(values: dict[str, np.ndarray], n_epitopes: int) -> Candidates:
    floor = values["floor"]
    parts = tuple(values[name] for name in ("scores", "epitopes", "starts"))
    return Candidates(sparse.csr_array(parts, (len(floor), n_epitopes)), floor)


def _plain(values: pd.Series) -> np.ndarray:
    return values.fillna("").to_numpy(str) if values.dtype == object else values.to_numpy()


def _nullable(values: np.ndarray) -> pa.Array:
    """Return texts, null where `_plain` wrote an empty one."""
    return pa.array(np.where(values == "", None, values.astype(object)), pa.string())


def _matrix(indices: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(indices.shape[1], np.float32), tuple(indices)), shape)
