"""Rows of a table that repeat its header, because tables were joined."""

import re
from functools import reduce
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input.files.container import MalformedRow
from airrvec.input.role_names import plain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REPEATED_HEADER = "repeats the header; cells after it are others than those before, whatever their names"


def without_headers(
    table: pa.Table, needed: tuple[str, ...], names: list[str], path: str | Path
) -> tuple[pa.Table, list[MalformedRow]]:
    """
    Return the table without rows that repeat the header, and these as malformed rows.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings, and ``row``.
    needed : tuple of str
        Columns that every row has: a row is a header if most of them hold the name of a column.
    names : list of str
        All columns of the file.
    path : str or Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the names are in another order than in the header, or others: the rows after them would be misread.
    """
    needed = tuple(name for name in needed if name)
    spellings = pa.array(sorted({spelling for name in names for spelling in _spellings(name)}))
    texts = (pc.ascii_lower(pc.ascii_trim_whitespace(table[name])) for name in needed)
    is_name = [pc.is_in(text, spellings).cast(pa.int16()) for text in texts]
    is_header = pc.greater(reduce(pc.add, is_name), len(needed) // 2)
    if not pc.any(is_header).as_py():
        return table, []
    headers = table.filter(is_header).to_pylist()
    for header in headers:
        row = header.pop("row")
        for name, value in header.items():
            if name and value is not None and plain(value) != plain(name):
                raise InputError(
                    f"the row is another header, which names '{value}' where the first names '{name}'",
                    file=path,
                    row=row,
                    fix="Tables with columns in another order were joined: give each as a sample of its own",
                )
    rows = table["row"].filter(is_header).to_pylist()
    return table.filter(pc.invert(is_header)), [MalformedRow(row, REPEATED_HEADER) for row in rows]


def after_headers(chains: pa.Table, headers: list[int]) -> pa.Table:
    """Tell cells apart that have one name in two tables, of which a repeated header begins the second."""
    if not headers:
        return chains
    part = pa.array(np.searchsorted(headers, chains["row"].to_numpy()).astype(str), pa.string())
    keys = pc.binary_join_element_wise(chains["cell_key"], part, "\0", null_handling="emit_null")
    return chains.set_column(chains.schema.get_field_index("cell_key"), "cell_key", keys)


def _spellings(name: str) -> list[str]:
    """Return a name as headers repeat it, in small letters: after a mark, or spelled otherwise."""
    words = re.findall("[a-z0-9]+", name.lower())
    spellings = {name.lower(), *(between.join(words) for between in ("", " ", "_", ".", "-"))} - {""}
    return [mark + spelling for mark in ("", "#", "\ufeff", "\ufeff#") for spelling in spellings]
