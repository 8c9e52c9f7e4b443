"""What the map reads of a run's tables: a number of receptors that is bounded, however many there are."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec import schema, tables

BATCH = 2**16  # vectors in memory at once: 17 MB of 64 dimensions


def n_with_vector(embeddings: Path) -> tuple[int, int]:
    """Receptors that have a vector, and those that have none."""
    counts = [
        (len(batch), batch.column(0).null_count)
        for path in tables.files(embeddings)
        for batch in _batches(path, ["dim_01"])
    ]
    n, without = (sum(count) for count in zip(*counts, strict=True)) if counts else (0, 0)
    return n - without, without


def spread(n: int, most: int) -> np.ndarray:
    """
    At most ``most`` of the numbers below n, evenly spaced, ascending.

    In the order of ``receptor_id``, a hash, these are a random sample that is the same in every run.
    """
    return np.arange(n) if n <= most else np.arange(most, dtype=np.int64) * n // most


def portions(embeddings: Path) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """
    Receptors that have a vector, batch by batch in their order.

    Yields
    ------
    receptor_id : pyarrow.Array
        n of them.
    vectors : ndarray of float32, shape (n, d)
    """
    for path in tables.files(embeddings):
        for batch in _batches(path):
            batch = batch.filter(pc.is_valid(batch["dim_01"]))
            dimensions = [batch[name].to_numpy() for name in batch.schema.names[1:]]
            yield batch["receptor_id"], np.stack(dimensions, axis=1).astype(np.float32)


def chosen(embeddings: Path, wanted: np.ndarray) -> tuple[list[str], np.ndarray]:
    """receptor_ids and vectors of some receptors, by ascending number among those that have a vector."""
    n_dimensions = len(tables.arrow_schema(tables.files(embeddings)[0]).names) - 1
    ids, vectors, first = [], [np.empty((0, n_dimensions), np.float32)], 0
    for of_batch, of_vectors in portions(embeddings):
        low, high = np.searchsorted(wanted, [first, first + len(of_batch)])
        rows = wanted[low:high] - first
        ids += of_batch.take(pa.array(rows)).to_pylist()
        vectors.append(of_vectors[rows])
        first += len(of_batch)
    return ids, np.concatenate(vectors)


def cells(paths: list[Path], clonotype_ids: list[str]) -> pd.DataFrame:
    """``sample_id``, the two ids, ``epitope`` and the metadata of the cells of some clonotypes."""
    frames = []
    for path in paths:
        names = [name for name in tables.arrow_schema(path).names if name not in schema.CELLS.names]
        columns = ["sample_id", "receptor_id", "clonotype_id", "epitope", *names]
        found = tables.filtered(path, pc.field("clonotype_id").isin(clonotype_ids), columns)
        frames.append(found.to_pandas())
    return pd.concat(frames, ignore_index=True)


def of_receptors(path: Path, receptor_ids: list[str], columns: list[str] | None = None) -> pd.DataFrame:
    """Rows of some receptors; those of others are passed by without being held in memory."""
    return tables.filtered(path, pc.field("receptor_id").isin(receptor_ids), columns).to_pandas()


def calls(paths: list[Path], columns: list[str]) -> pd.DataFrame | None:
    """Some columns of the called receptors of all samples; None without annotation."""
    if not paths:
        return None
    called = pc.field("call") == "called"
    return pd.concat([tables.filtered(path, called, columns).to_pandas() for path in paths])


def _batches(path: str, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    with tables.parquet_file(path) as parquet:
        yield from parquet.iter_batches(BATCH, columns=columns)
