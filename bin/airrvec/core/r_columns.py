"""
Columns, vectors and metadata in a file that base R reads with ``readBin``, without arrow.

Numbers are little-endian; text is UTF-8 and ends with a zero byte. In this order: `MAGIC`; the numbers of
rows, of columns, of dimensions and of metadata; each column as name, kind, and values; the names of the rows;
the names of the dimensions and the vectors, column by column, as float32; keys and values of the metadata.
Text columns are the number of their levels, the levels, and a number from 1 for each row. Missing whole
numbers are R's NA, the smallest of 32 bits; other missing numbers are NaN.
"""

from pathlib import Path

from airrvec.core import tables

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MAGIC = "airrvec columns 1"
_NA = -(2**31)


def write(
    path: Path, columns: pa.Table, names: list[str], vectors: pa.Table, metadata: dict[str, str]
) -> None:
    """
    Write a file for ``bin/export_sce.R``.

    Parameters
    ----------
    path : Path
        Destination; appears complete or not at all.
    columns : pyarrow.Table
        Text, numbers and flags; whole numbers beyond 32 bits become doubles.
    names : list of str
        Name of each row.
    vectors : pyarrow.Table
        Dimensions of the vector of each row, null without a vector.
    metadata : dict of str
        Strings.
    """
    sizes = (len(columns), columns.num_columns, vectors.num_columns, len(metadata))
    with tables.atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(_text([MAGIC]) + np.array(sizes, "<i4").tobytes())
        for name in columns.column_names:
            kind, content = _column(columns[name])
            file.write(_text([name, kind]) + content)
        file.write(_text(names) + _text(vectors.column_names))
        for values in vectors.columns:
            file.write(values.to_numpy().astype("<f4").tobytes())
        file.write(_text(text for pair in metadata.items() for text in pair))


def _text(strings) -> bytes:
    # R ends a text at its first zero byte: none is left in one.
    return b"".join(text.replace("\0", "\ufffd").encode() + b"\0" for text in strings)


def _column(values: pa.ChunkedArray) -> tuple[str, bytes]:
    """Return the kind of a column in R, and its values."""
    if pa.types.is_string(values.type):
        encoded = values.combine_chunks().dictionary_encode()
        codes = pc.fill_null(pc.add(encoded.indices, 1), _NA)
        levels = encoded.dictionary.to_pylist()
        return "character", np.array([len(levels)], "<i4").tobytes() + _text(levels) + _int32(codes)
    if pa.types.is_boolean(values.type):
        return "logical", _int32(pc.fill_null(values.cast(pa.int32()), _NA))
    if pa.types.is_integer(values.type):
        limits = pc.min_max(values).as_py()
        if limits["min"] is None or (limits["min"] > _NA and limits["max"] < -_NA):
            return "integer", _int32(pc.fill_null(values.cast(pa.int64()), _NA))
    doubles = values.cast(pa.float64(), safe=False).to_numpy()
    return "double", doubles.astype("<f8").tobytes()


def _int32(values: pa.Array | pa.ChunkedArray) -> bytes:
    return np.asarray(values).astype("<i4").tobytes()
