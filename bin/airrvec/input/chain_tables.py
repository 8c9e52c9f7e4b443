"""The chains of each cell, with the fields of the input that no later step reads."""

from airrvec.core import schema
from airrvec.core.tables import BATCH

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Columns of `airrvec.core.schema.CHAINS` that follow from the cell.
_OF_CELL = ("sample_id", "cell_id", "receptor_id", "clonotype_id")


def chains_of_cells(chains: pa.Table, index: np.ndarray, shared: np.ndarray) -> pa.Table:
    """
    Return the chains of the cells, a row each, α before β.

    Parameters
    ----------
    chains : pyarrow.Table
        Standardised chains.
    index : ndarray of int, shape (n cells, 2)
        Row of the α and the β chain of each cell; -1 for a missing chain.
    shared : ndarray of bool, shape (n cells,)
        Whether one input row holds both chains and one count, which becomes that of the α chain.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CHAINS` without the columns that follow from the cell; ``cell_row`` is counted
        from 1 within these cells.
    """
    cell, side = np.nonzero(index >= 0)
    counted = ~(shared[cell] & (side == 1))
    rows = pa.array(index[cell, side], pa.int64())
    columns = {}
    for field in schema.CHAINS:
        if field.name == "cell_row":
            columns[field.name] = pa.array(cell + 1, pa.int64())
        elif field.name not in _OF_CELL:
            columns[field.name] = _taken(chains[field.name], rows)
    for name in ("duplicate_count", "umi_count", "consensus_count"):
        columns[name] = pc.if_else(pa.array(counted), columns[name], pa.scalar(None, pa.int64()))
    return pa.table(columns)


def with_cells(chains: pa.Table, cells: pa.Table, first_row: int) -> pa.Table:
    """
    Return `airrvec.core.schema.CHAINS`.

    Parameters
    ----------
    chains : pyarrow.Table
        From `chains_of_cells`.
    cells : pyarrow.Table
        `airrvec.core.schema.CELLS` of the same cells.
    first_row : int
        Number of cells of the sample before these.
    """
    place = pc.subtract(chains["cell_row"], 1)
    columns = {name: chains[name] for name in chains.column_names}
    columns["cell_row"] = pc.add(chains["cell_row"], first_row)
    columns |= {name: cells[name].take(place) for name in _OF_CELL}
    return pa.table([columns[name] for name in schema.CHAINS.names], schema=schema.CHAINS)


def _taken(values: pa.ChunkedArray, rows: pa.Array) -> pa.ChunkedArray:
    """Return values of a column in pieces: the sequences of a large sample exceed one array of strings."""
    if values.null_count == len(values):  # most formats lack most fields
        return pa.chunked_array([pa.nulls(len(rows), values.type)])
    text = pa.types.is_string(values.type)
    whole = values.cast(pa.large_string()) if text else values
    whole = whole.combine_chunks()
    pieces = [whole.take(rows.slice(first, BATCH)) for first in range(0, len(rows), BATCH)]
    return pa.chunked_array([piece.cast(values.type) for piece in pieces], values.type)
