"""Vectors in tables that need not fit into memory: their model, and those of chosen receptors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.terminal import counted

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ATTRIBUTE = "airrvec"  # key in the attrs of DataFrames, and in the uns of AnnData
PANDAS = "PANDAS_ATTRS"  # key of a Parquet file whose JSON pandas reads as the attrs of its DataFrame


@dataclass(frozen=True)
class VectorModel:
    """
    Model that made vectors: vectors of two models cannot be compared.

    Attributes
    ----------
    name : str
        Name in reports.
    weights_sha256 : str
        Checksum of the weights, `airrvec.model.weights.LoadedModel.checksum`.
    dimensions : int
        Width of the vectors.
    """

    name: str
    weights_sha256: str
    dimensions: int

    @classmethod
    def read(cls, described: Any) -> "VectorModel | None":
        """Return the model that the method `described` wrote; None if it is something else."""
        try:
            return cls(described["model"], described["weights_sha256"], int(described["dimensions"]))
        except (KeyError, TypeError, ValueError):
            return None

    def described(self) -> dict[str, Any]:
        """Return the model as metadata of vectors, in memory and on the disk."""
        return {
            "model": self.name,
            "weights_sha256": self.weights_sha256,
            "dimensions": self.dimensions,
        }

    def metadata(self) -> dict[str, str]:
        """Return metadata of a Parquet file of vectors, which pandas reads as `ATTRIBUTE` too."""
        described = self.described()
        texts = {name: str(value) for name, value in described.items()}
        return {**texts, PANDAS: tables.json_text({ATTRIBUTE: described})}

    def is_comparable(self, other: "VectorModel") -> bool:
        """Return whether vectors of two models can be compared: the models have the same weights."""
        return (self.weights_sha256, self.dimensions) == (other.weights_sha256, other.dimensions)

    def __str__(self) -> str:
        width = counted(self.dimensions, "dimension")
        return f"'{self.name}' ({width}, weights {self.weights_sha256[:12]})"


def check_same_model(
    subject: str, model: VectorModel, other: str, other_model: VectorModel, **options: Any
) -> None:
    """
    Raise `InputError` unless vectors can be compared.

    Parameters
    ----------
    subject, other : str
        Names of the vectors, such as "the queries"; the second completes "and those of".
    model, other_model : VectorModel
        Their models.
    **options
        ``fix`` and ``file`` of the error.
    """
    if not model.is_comparable(other_model):
        raise InputError(
            f"{subject} are of the model {model}, and {other} of {other_model}: vectors of two models cannot"
            " be compared",
            **options,
        )


def read_model(*paths: str | Path) -> VectorModel:
    """
    Return the model of ``embeddings``, files or folders of partitions.

    Raises
    ------
    InputError
        If a file names no model, or two files name different ones.
    """
    files = [file for path in paths for file in tables.files(path)]
    if not files:
        raise InputError("it holds no vectors", file=paths[0])
    first, *other_models = [_model_of_file(file) for file in files]
    for file, model in zip(files[1:], other_models, strict=True):
        check_same_model("its vectors", model, f"those of {Path(files[0]).name}", first, file=file)
    return first


def read_description(*paths: str | Path) -> dict[str, Any]:
    """Return model, device, precision and version of ``embeddings``; errors as for `read_model`."""
    metadata = tables.merge_metadata([tables.metadata(path) for path in paths])
    metadata.pop(PANDAS, None)
    return {**metadata, **read_model(*paths).described()}


def write_counts(path: str | Path, out: Path) -> None:
    """Write the description of ``embeddings`` and the numbers of receptors and of those without a vector."""
    first = tables.read(path, ["dim_01"])["dim_01"]
    counts = {"receptors": len(first), "without_vector": first.null_count}
    tables.write_json({**read_description(path), **counts}, out)


def _model_of_file(path: str) -> VectorModel:
    described: Mapping[str, Any] = tables.metadata(path)
    model = VectorModel.read({**described, "dimensions": n_dimensions(path)})
    if model is None:
        raise InputError(
            "its vectors do not name their model", file=path, fix="Embed the receptors again with airrvec"
        )
    return model


def read_receptor_rows(path: str | Path, receptor_ids: pa.ChunkedArray) -> pa.Table:
    """
    Return the row of each receptor_id in a table of receptors, in the order of the ids.

    Rows of other receptors are skipped without being held in memory.

    Raises
    ------
    InputError
        If the table lacks a receptor_id.
    """
    wanted = pc.field("receptor_id").isin(pc.unique(receptor_ids))
    rows = tables.read_filtered(path, wanted)
    return rows.take(_places(receptor_ids, rows["receptor_id"], path))


def read_vectors(path: str | Path, receptor_ids: pa.ChunkedArray) -> np.ndarray:
    """
    Return the vector of each receptor_id, in the order of the ids; the table is read in batches.

    Parameters
    ----------
    path : str or Path
        ``embeddings``, a file or a folder of partitions.
    receptor_ids : pyarrow.ChunkedArray of string, length n

    Returns
    -------
    ndarray of float32, shape (n, n dimensions)
        NaN for a receptor without a vector.

    Raises
    ------
    InputError
        If the table lacks a receptor_id.
    """
    known = tables.read(path, ["receptor_id"])["receptor_id"]
    return read_rows(path, _places(receptor_ids, known, path).to_numpy())


def read_rows(path: str | Path, rows: np.ndarray) -> np.ndarray:
    """
    Return the vectors of rows of a table, in the order of these rows; the table is read in batches.

    Parameters
    ----------
    path : str or Path
        ``embeddings``, a file or a folder of partitions.
    rows : ndarray of int64, shape (n,)
        Below the number of rows of the table.

    Returns
    -------
    ndarray of float32, shape (n, n dimensions)
    """
    order = np.argsort(rows, kind="stable")
    matrix = np.empty((len(rows), n_dimensions(path)), np.float32)
    first = 0
    for ids, vectors in batches(path):
        begin, end = np.searchsorted(rows, (first, first + len(ids)), sorter=order)
        chosen = order[begin:end]
        matrix[chosen] = vectors[rows[chosen] - first]
        first += len(ids)
    return matrix


def n_dimensions(path: str | Path) -> int:
    """Return the number of dimensions of the vectors in ``embeddings``, a file or a folder of partitions."""
    return len(tables.arrow_schema(tables.files(path)[0]).names) - 1


def batches(path: str | Path) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """
    Yield ``embeddings``, a file or a folder of partitions, batch by batch in its order.

    Yields
    ------
    receptor_id : pyarrow.Array
        Ids of n receptors.
    vectors : ndarray of float32, shape (n, d)
        NaN for a receptor without a vector.
    """
    for batch in tables.read_batches(path, tables.BATCH):
        columns = [batch[name].to_numpy() for name in batch.column_names[1:]]
        yield batch["receptor_id"].combine_chunks(), np.stack(columns, axis=1)


def _places(receptor_ids: pa.ChunkedArray, known: pa.ChunkedArray, path: str | Path) -> pa.ChunkedArray:
    """Return the place of each receptor_id in a table; raise `InputError` if it lacks one."""
    place = pc.index_in(receptor_ids, known.combine_chunks())
    if place.null_count:
        problem = f"{place.null_count} of {len(place)} cells have a receptor that is missing here"
        raise InputError(problem, file=path)
    return place
