"""Tables for programs and people that are written in parts, so that memory does not grow with their rows."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.errors import InputError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROW_GROUP = 2**20  # rows of a group of a Parquet file, which are in memory at once
SEPARATORS = {".tsv": "\t", ".csv": ","}
SUFFIXES = (".parquet", *SEPARATORS)


def check_suffix(path: Path, option: str) -> None:
    """Raise `InputError` unless the suffix of a file names a format of a table."""
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"{option}: '{path}' ends in none of {', '.join(SUFFIXES)}", fix="Choose one of these formats"
        )


def write_as_named(table: pa.Table, path: Path) -> None:
    """Write a table in the format that its suffix names."""
    if path.suffix in SEPARATORS:
        tables.write_delimited([table], path, SEPARATORS[path.suffix])
    else:
        tables.write(table, path)


def move(parquet: Path, path: Path, *, columns: Sequence[str] = ()) -> None:
    """
    Move a Parquet file to a name, as text if its suffix says so.

    Parameters
    ----------
    columns : sequence of str
        Metadata that become columns of a text, which has no metadata: each has one value in all rows.
    """
    if path.suffix not in SEPARATORS:
        shutil.move(parquet, path)
        return
    metadata = tables.metadata(parquet)
    parts = tables.read_batches(parquet, tables.BATCH)
    for name in columns:
        parts = _with_column(parts, name, metadata[name])
    tables.write_delimited(parts, path, SEPARATORS[path.suffix])


def _with_column(parts: Iterable[pa.Table], name: str, value: str) -> Iterator[pa.Table]:
    for part in parts:
        yield part.append_column(name, pa.array([value] * len(part), pa.string()))


@contextmanager
def writer_of_both(
    stem: str | Path, table_schema: pa.Schema, metadata: dict[str, str] | None = None
) -> Iterator[Callable[[pa.Table], None]]:
    """
    Yield a function that appends rows to ``<stem>.parquet``, of which ``<stem>.tsv`` is made at the end.

    The files appear when the block ends, and are those that `airrvec.core.tables.write_both` makes of all
    rows at once. Parts begin at multiples of 1,024 rows, as the pages of the Parquet file do.
    """
    table_schema = table_schema.with_metadata(metadata) if metadata else table_schema
    table_schema = schema.described(table_schema, stem)
    waiting, n_written = [table_schema.empty_table()], 0

    def write_group() -> None:
        nonlocal waiting, n_written
        rows = pa.concat_tables(waiting)
        parquet.write_table(rows.slice(0, ROW_GROUP), ROW_GROUP)
        waiting, n_written = [rows.slice(ROW_GROUP)], n_written + min(len(rows), ROW_GROUP)

    def append(table: pa.Table) -> None:
        waiting.append(table)
        while sum(map(len, waiting)) >= ROW_GROUP:
            write_group()

    with (
        tables.atomic_path(f"{stem}.parquet") as name,
        # Not by `tables.writer`: it writes empty metadata where `tables.write` writes none.
        pq.ParquetWriter(name, table_schema, **tables.parquet_options(table_schema)) as parquet,
    ):
        yield append
        if sum(map(len, waiting)) or not n_written:
            write_group()
    tables.write_tsv_beside(stem, n_written, tables.read_batches(f"{stem}.parquet", tables.BATCH))


# --- Columns, vectors and metadata in a file that base R reads with ``readBin``, without arrow
#
# Numbers are little-endian; text is UTF-8 and ends with a zero byte. In this order: `MAGIC`; the numbers of
# rows, of columns, of dimensions and of metadata; each column as name, kind, and values; the names of the
# rows; the names of the dimensions and the vectors, column by column, as float32; keys and values of the
# metadata. Text columns are the number of their levels, the levels, and a number from 1 for each row.
# Missing whole numbers are R's NA, the smallest of 32 bits; other missing numbers are NaN.

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
