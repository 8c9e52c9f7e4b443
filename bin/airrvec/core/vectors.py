"""Vectors of chosen receptors, from a table that need not fit into memory."""

from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import tables


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
    place = pc.index_in(receptor_ids, tables.read(path, ["receptor_id"])["receptor_id"].combine_chunks())
    if place.null_count:
        raise tables.missing_receptors(place, path)
    place = place.to_numpy()
    order = np.argsort(place, kind="stable")
    names = tables.arrow_schema(tables.files(path)[0]).names[1:]
    matrix = np.empty((len(place), len(names)), np.float32)
    first = 0
    for batch in chain.from_iterable(tables.read_batches(file, tables.BATCH) for file in tables.files(path)):
        begin, end = np.searchsorted(place, (first, first + len(batch)), sorter=order)
        rows = order[begin:end]
        for dimension, name in enumerate(names):
            matrix[rows, dimension] = batch[name].to_numpy()[place[rows] - first]
        first += len(batch)
    return matrix
