"""The one way to open duckdb: with a limit of memory, beyond which it writes to a temporary folder."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import tables

import duckdb
import pyarrow as pa


@contextmanager
def connect(folder: Path, *, memory: str, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """
    Yield a connection to an empty database in memory; tables keep the order of rows that they were read in.

    Parameters
    ----------
    folder : Path
        Folder of the temporary files, made if missing; they are removed at the end.
    memory : str
        Memory limit, such as ``2GB``.
    threads : int
        Number of threads.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": memory,
            "threads": threads,
            "temp_directory": spill,
            "preserve_insertion_order": True,
        }
        with duckdb.connect(config=config) as connection:
            yield connection


@dataclass(frozen=True)
class Query:
    """
    A table that is computed when it is read or written; its connection must be open then.

    Attributes
    ----------
    rows : duckdb.DuckDBPyRelation
        With the names of ``columns``.
    columns : pyarrow.Schema
    """

    rows: duckdb.DuckDBPyRelation
    columns: pa.Schema

    def table(self) -> pa.Table:
        """Return all rows."""
        return self.rows.to_arrow_table().cast(self.columns)

    def write(
        self, path: str | Path, metadata: dict[str, str] | None = None, *, group: int = tables.BATCH
    ) -> None:
        """Write all rows as Parquet, in groups of ``group`` rows, of which one is in memory."""
        with tables.writer(path, self.columns, metadata) as parquet:
            for batch in self.rows.to_arrow_reader(group):
                parquet.write_table(pa.Table.from_batches([batch]).cast(self.columns))
