"""Tables for programs and people that are written in parts, so that memory does not grow with their rows."""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.errors import InputError

import pyarrow as pa
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
def writer_of_both(stem: str | Path, table_schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """
    Yield a function that appends rows to ``<stem>.parquet``, of which ``<stem>.tsv`` is made at the end.

    The files appear when the block ends, and are those that `airrvec.core.tables.write_both` makes of all
    rows at once. Parts begin at multiples of 1,024 rows, as the pages of the Parquet file do.
    """
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
