"""Columns of tables as one array, and functions of their distinct values."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa


def contiguous(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column as one array."""
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def by_distinct(
    values: pa.Array | pa.ChunkedArray,
    function: Callable[[str | None], Any],
    dtype: pa.DataType | None = None,
) -> pa.Array:
    """Apply a function once to each distinct value, a string or None; return strings, or ``dtype``."""
    encoded = contiguous(values).dictionary_encode(null_encoding="encode")
    results = [function(value) for value in encoded.dictionary.to_pylist()]
    return pa.array(results, dtype or pa.string()).take(encoded.indices)
