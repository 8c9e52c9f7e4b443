"""Rows and vectors of chosen receptors, from tables that need not fit into memory."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import tables
from airrvec.core.errors import InputError


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
    for file in tables.files(path):
        for batch in tables.read_batches(file, tables.BATCH):
            columns = [batch[name].to_numpy() for name in batch.column_names[1:]]
            yield batch["receptor_id"].combine_chunks(), np.stack(columns, axis=1)


def _places(receptor_ids: pa.ChunkedArray, known: pa.ChunkedArray, path: str | Path) -> pa.ChunkedArray:
    """Return the place of each receptor_id in a table; raise `InputError` if it lacks one."""
    place = pc.index_in(receptor_ids, known.combine_chunks())
    if place.null_count:
        problem = f"{place.null_count} of {len(place)} cells have a receptor that is missing here"
        raise InputError(problem, file=path)
    return place
