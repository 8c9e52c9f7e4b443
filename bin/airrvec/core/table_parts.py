"""Tables for programs and people that are written in parts, so that memory does not grow with their rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from airrvec.core import tables

ROW_GROUP = 2**20  # rows of a group of a Parquet file, which are in memory at once


@contextmanager
def writer_of_both(stem: str | Path, table_schema: pa.Schema) -> Iterator[Callable[[pa.Table], None]]:
    """
    Yield a function that appends rows to ``<stem>.parquet``, of which ``<stem>.tsv`` is made at the end.

    The files appear when the block ends, and are those that `airrvec.core.tables.write_both` makes of all
    rows at once. Parts begin at multiples of 1,024 rows, as the pages of the Parquet file do.
    """
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
