"""Input of the map, read from a run's tables with memory for a bounded number of receptors."""

from collections.abc import Iterator
from pathlib import Path

from airrvec.core import pages, schema, tables
from airrvec.core.vectors import batches, n_dimensions

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc


def count_vectors(embeddings: Path) -> tuple[int, int]:
    """Return the number of receptors with a vector, and without one."""
    counts = [
        (len(batch), batch.column(0).null_count)
        for path in tables.files(embeddings)
        for batch in _first_components(path)
    ]
    n, without = (sum(count) for count in zip(*counts, strict=True)) if counts else (0, 0)
    return n - without, without


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """
    Return at most ``most`` of the numbers below n, evenly spaced, ascending.

    As row numbers in the order of ``receptor_id``, a hash, they are a random sample, the same in every run.
    """
    return np.arange(n) if n <= most else np.arange(most, dtype=np.int64) * n // most


def portions(embeddings: Path) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """
    Yield the receptors that have a vector, batch by batch in their order.

    Yields
    ------
    receptor_id : pyarrow.Array
        Ids of n receptors.
    vectors : ndarray of float32, shape (n, d)
    """
    for ids, vectors in batches(embeddings):
        has_vector = ~np.isnan(vectors[:, 0])
        yield ids.filter(pa.array(has_vector)), vectors[has_vector]


def read_vectors(embeddings: Path, wanted: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return ids and vectors of some receptors: ascending row numbers among those that have a vector."""
    ids, vectors, first = [], [np.empty((0, n_dimensions(embeddings)), np.float32)], 0
    for batch_ids, batch_vectors in portions(embeddings):
        low, high = np.searchsorted(wanted, [first, first + len(batch_ids)])
        rows = wanted[low:high] - first
        ids += batch_ids.take(pa.array(rows)).to_pylist()
        vectors.append(batch_vectors[rows])
        first += len(batch_ids)
    return ids, np.concatenate(vectors)


def read_cells(paths: list[Path], clonotype_ids: list[str]) -> pd.DataFrame:
    """Return sample, receptor and clonotype id, ``epitope`` and metadata of the cells of some clonotypes."""
    frames = []
    for path in paths:
        names = [name for name in tables.arrow_schema(path).names if name not in schema.CELLS.names]
        columns = ["sample_id", "receptor_id", "clonotype_id", "epitope", *names]
        found = tables.read_filtered(path, pc.field("clonotype_id").isin(clonotype_ids), columns)
        frames.append(found.to_pandas())
    return pd.concat(frames, ignore_index=True)


def read_receptors(path: Path, receptor_ids: list[str], columns: list[str] | None = None) -> pd.DataFrame:
    """Return the rows of some receptors; other rows are skipped without being held in memory."""
    return tables.read_filtered(path, pc.field("receptor_id").isin(receptor_ids), columns).to_pandas()


def read_calls(paths: list[Path], columns: list[str]) -> pd.DataFrame | None:
    """Return some columns of the called receptors of all samples; None without annotation."""
    if not paths:
        return None
    called = pc.field("call") == "called"
    return pd.concat([tables.read_filtered(path, called, columns).to_pandas() for path in paths])


def _first_components(path: str) -> Iterator[pa.RecordBatch]:
    with tables.parquet_file(path) as parquet:
        yield from pages.batches(parquet, path, tables.BATCH, ["dim_01"])
