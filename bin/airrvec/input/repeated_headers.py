"""Rows of a table that repeat its header, because tables were joined."""

from functools import reduce

from airrvec.input.files.container import MalformedRow

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REPEATED_HEADER = "repeats the header; cells after it are others than those before, whatever their names"


def without_headers(table: pa.Table, names: tuple[str, ...]) -> tuple[pa.Table, list[MalformedRow]]:
    """Return the table without rows that repeat the header, and these as malformed rows."""
    is_header = reduce(pc.and_, (pc.fill_null(pc.equal(table[name], name), False) for name in names if name))
    if not pc.any(is_header).as_py():
        return table, []
    rows = table["row"].filter(is_header).to_pylist()
    return table.filter(pc.invert(is_header)), [MalformedRow(row, REPEATED_HEADER) for row in rows]


def after_headers(chains: pa.Table, headers: list[int]) -> pa.Table:
    """Tell cells apart that have one name in two tables, of which a repeated header begins the second."""
    if not headers:
        return chains
    part = pa.array(np.searchsorted(headers, chains["row"].to_numpy()).astype(str), pa.string())
    keys = pc.binary_join_element_wise(chains["cell_key"], part, "\0", null_handling="emit_null")
    return chains.set_column(chains.schema.get_field_index("cell_key"), "cell_key", keys)
