"""An annotator as a file of NumPy arrays, without pickled objects; tables are bytes of Arrow streams."""

import json
from collections.abc import Callable
from pathlib import Path

from airrvec.annotation.annotator import Annotator
from airrvec.annotation.evidence import COMPARED, Candidates, Sources
from airrvec.annotation.linear_classifier import LinearClassifier, Reader, gene_columns
from airrvec.annotation.reference_set import DESCRIPTION, ReferenceSet
from airrvec.annotation.scorer import CalibrationScores, Scorer
from airrvec.core import arrow_stream, schema, tables
from airrvec.core.chains import CHAIN_LOCI
from airrvec.core.errors import InputError
from airrvec.core.progress import step
from airrvec.core.vectors import VectorModel, check_same_model

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

REASONS = "not_calibrated.json"  # beside the annotators

_RECEPTOR = ("receptor_id", "clonotype_id", "species", *schema.RECEPTOR_FIELDS)
_SCORER = tuple(Scorer.__annotations__)


@step("writing the reference")
def save(annotator: Annotator, path: Path, model: VectorModel) -> None:
    """
    Write an annotator.

    Parameters
    ----------
    annotator : Annotator
    path : Path
        The stem of its name has to end with ``_`` and the chains.
    model : VectorModel
        Model of its vectors.
    """
    sources, scores = annotator.sources, annotator.scores
    arrays = {"min_references": np.array(sources.min_references)}
    arrays |= {f"model_{name}": np.array(value) for name, value in model.described().items()}
    arrays["contrast"] = _packed(sources.contrast.select(_RECEPTOR))
    for chains, reference in sources.references.items():
        # Of other classes, nothing but labels and vectors is compared.
        columns = (*_RECEPTOR, *DESCRIPTION) if chains == sources.chains else ("clonotype_id",)
        class_arrays = {
            "receptors": _packed(reference.receptors.select(columns)),
            "epitopes": _packed(_table(reference.epitopes)),
            "labels": np.stack(reference.labels.nonzero()),
            "studies": np.stack(reference.studies.nonzero()),
            "study_names": np.array(reference.study_names, str),
            "alleles": _packed(_table(reference.alleles)),
            "vectors": sources.vectors[chains],
            "contrast": sources.contrast_vectors[chains],
        }
        arrays |= {f"{chains}_{name}": values for name, values in class_arrays.items()}
    arrays |= {f"scorer_{name}": np.asarray(getattr(annotator.scorer, name)) for name in _SCORER}
    arrays |= _classifier_arrays(sources.classifier)
    if scores is not None:
        arrays |= _scores_arrays(scores)
    with tables.atomic_path(path) as temporary, temporary.open("wb") as handle:
        np.savez(handle, **arrays)  # type: ignore[arg-type]  # none is called allow_pickle


def _classifier_arrays(classifier: LinearClassifier) -> dict[str, np.ndarray]:
    reader = classifier.reader
    arrays = {"weights": classifier.weights, "constant": classifier.constant, **reader.triplets}
    arrays |= {name: np.array(genes.to_pylist(), str) for name, genes in reader.genes.items()}
    return {f"classifier_{name}": values for name, values in arrays.items()}


def _scores_arrays(scores: CalibrationScores) -> dict[str, np.ndarray]:
    arrays = {"binds": np.stack(scores.binds.nonzero())}
    for name, candidates in (("labelled", scores.labelled), ("negatives", scores.background)):
        arrays[f"{name}_scores"] = candidates.scores.data
        arrays[f"{name}_epitopes"] = candidates.scores.indices.astype(np.int32)
        arrays[f"{name}_starts"] = candidates.scores.indptr
        arrays[f"{name}_floor"] = candidates.floor
    return arrays


def save_reasons(groups: list[dict], folder: Path) -> None:
    """Write why classes are not calibrated, by ``species``, ``chains`` and ``not_calibrated`` of groups."""
    reasons = {
        f"{group['species']}_{group['chains']}": group["not_calibrated"]
        for group in groups
        if group["not_calibrated"]
    }
    tables.write_json(reasons, folder / REASONS)


def load_reasons(folder: Path) -> dict[tuple[str, str], str]:
    """Return why classes are not calibrated, by species and chains."""
    reasons = json.loads((folder / REASONS).read_text())
    return {tuple(name.split("_")): reason for name, reason in reasons.items()}


def load_epitopes(folder: Path) -> list[str]:
    """Return the epitopes of all references in a folder, sorted."""
    epitopes: set[str] = set()
    for path in folder.glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            table = _unpacked(arrays[f"{path.stem.split('_')[-1]}_epitopes"])
            epitopes.update(table["epitope"].to_pylist())
    return sorted(epitopes)


@step("reading the reference")
def load(
    path: Path, embed: Callable[[pa.Table], np.ndarray], model: VectorModel, *, threads: int = 1
) -> Annotator:
    """
    Read a file written by `save`.

    Parameters
    ----------
    path : Path
        The stem of its name ends with ``_`` and the chains.
    embed : callable
        Vectors of receptors.
    model : VectorModel
        Model of these vectors.
    threads : int
        Number of threads.

    Raises
    ------
    InputError
        If another model made the file's vectors.
    """
    with np.load(path, allow_pickle=False) as arrays:
        values = {name: arrays[name] for name in arrays.files}
    own = VectorModel.read({name: value.item() for name, value in _part(values, "model").items()})
    if own is None:
        raise InputError("its vectors do not name their model", file=path, fix="Make the reference again")
    fix = "Give the model that made the reference with --model"
    check_same_model("its vectors", own, "those of the receptors", model, file=path, fix=fix)
    chains = Path(path).stem.split("_")[-1]
    references = {name: _reference(_part(values, name)) for name in COMPARED[chains]}
    sources = Sources(
        chains,
        references,
        {name: values[f"{name}_vectors"] for name in references},
        _unpacked(values["contrast"]),
        {name: values[f"{name}_contrast"] for name in references},
        embed,
        int(values["min_references"]),
        threads,
        known_classifier=_classifier(_part(values, "classifier"), chains),
    )
    n_epitopes = len(sources.reference.epitopes)
    scorer = {name: values[f"scorer_{name}"] for name in _SCORER}
    scorer |= {name: float(scorer[name]) for name in ("threshold", "start")}
    return Annotator(sources, Scorer(**scorer), _scores(values, n_epitopes))


def _classifier(values: dict[str, np.ndarray], chains: str) -> LinearClassifier:
    loci, columns = CHAIN_LOCI[chains], gene_columns(chains)
    genes = {name: pa.array(values[name], pa.string()) for name in columns}
    reader = Reader(loci, genes, {locus: values[locus] for locus in loci})
    return LinearClassifier(reader, values["weights"], values["constant"])


def _scores(values: dict[str, np.ndarray], n_epitopes: int) -> CalibrationScores | None:
    if "binds" not in values:
        return None
    labelled, negatives = (_candidates(_part(values, name), n_epitopes) for name in ("labelled", "negatives"))
    binds = _matrix(values["binds"], (len(values["labelled_floor"]), n_epitopes))
    return CalibrationScores(labelled, negatives, binds)


def _part(values: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """Return the arrays whose name begins with this one, without it."""
    start = f"{name}_"
    return {key.removeprefix(start): array for key, array in values.items() if key.startswith(start)}


def _reference(values: dict[str, np.ndarray]) -> ReferenceSet:
    receptors, epitopes = _unpacked(values["receptors"]), _unpacked(values["epitopes"])
    n, n_epitopes, studies = len(receptors), len(epitopes), values["study_names"].tolist()
    return ReferenceSet(
        receptors,
        epitopes.to_pandas(),
        _matrix(values["labels"], (n, n_epitopes)),
        _matrix(values["studies"], (n, len(studies))),
        studies,
        _unpacked(values["alleles"]).to_pandas(),
    )


def _candidates(values: dict[str, np.ndarray], n_epitopes: int) -> Candidates:
    floor = values["floor"]
    parts = tuple(values[name] for name in ("scores", "epitopes", "starts"))
    return Candidates(sparse.csr_array(parts, (len(floor), n_epitopes)), floor)


def _table(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()


def _packed(table: pa.Table) -> np.ndarray:
    """Return a table as bytes: an array of texts would give each the width of the longest."""
    return np.frombuffer(arrow_stream.packed(table.combine_chunks()), np.uint8)


def _unpacked(content: np.ndarray) -> pa.Table:
    return arrow_stream.unpacked(pa.py_buffer(content))


def _matrix(indices: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(indices.shape[1], np.float32), tuple(indices)), shape)
