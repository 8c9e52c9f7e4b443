"""Cells of a table with one entry per chain, separated by ``;``."""

from airrvec.input.formats.chains import column
from airrvec.input.values import trimmed

import pyarrow as pa
import pyarrow.compute as pc


def entries(table: pa.Table, name: str) -> pa.ListArray:
    """Return the entries of each cell of a column."""
    return pc.split_pattern(pc.fill_null(column(table, name), ""), ";").combine_chunks()


def aligned(table: pa.Table, name: str, n_chains: pa.Array) -> pa.ChunkedArray:
    """Return the entries of a column, one per chain; null if their number differs from that of the chains."""
    lists = entries(table, name)
    fits = pc.equal(pc.list_value_length(lists), n_chains)
    if pc.all(fits).as_py() is not False:
        return flat(pc.list_flatten(lists))
    rows = zip(lists.to_pylist(), n_chains.to_pylist(), fits.to_pylist(), strict=True)
    return flat(
        pa.array([value for row, n, fit in rows for value in (row if fit else [None] * n)], pa.string())
    )


def flat(values: pa.Array) -> pa.ChunkedArray:
    """Return values with blanks trimmed; missing values become null."""
    return trimmed(pa.chunked_array([values]))


def taken(values: pa.ChunkedArray, at: pa.Array) -> pa.ChunkedArray:
    """Return the values of the rows at ``at``."""
    return pa.chunked_array([values.combine_chunks().take(at)])
