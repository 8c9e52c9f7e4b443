"""The only reader and writer of tables: Parquet, zstd, under a temporary name until complete."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from airrvec import schema


@contextmanager
def written(path: str | Path) -> Iterator[Path]:
    """A temporary name beside ``path``, renamed to it when the block ends without an error."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write(table: pa.Table, path: str | Path, metadata: dict[str, str] | None = None) -> None:
    """
    Write a table as Parquet.

    Parameters
    ----------
    table : pyarrow.Table
        Any number of rows.
    path : str or Path
        Appears complete or not at all.
    metadata : dict, optional
        Strings for the file's key-value metadata.
    """
    table = table.replace_schema_metadata(metadata)
    with written(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


@contextmanager
def writer(
    path: str | Path, table_schema: pa.Schema, metadata: dict[str, str] | None = None
) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer for a table that comes in parts; the file appears when the block ends."""
    with written(path) as temporary:
        schema_with_metadata = table_schema.with_metadata(metadata)
        with pq.ParquetWriter(temporary, schema_with_metadata, compression="zstd") as parquet:
            yield parquet


def rebatched(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Tables of ``size`` rows (the last one fewer) from batches of any size."""
    waiting, n_waiting = [], 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += len(batch)
        while n_waiting >= size:
            table = pa.Table.from_batches(waiting)
            yield table.slice(0, size)
            waiting = table.slice(size).to_batches()
            n_waiting -= size
    if n_waiting:
        yield pa.Table.from_batches(waiting)


def write_tsv(table: pa.Table, path: str | Path) -> None:
    """Write a table as tab-separated text, nulls empty, quoted only where a value needs it."""
    with written(path) as temporary:
        frame = table.to_pandas(types_mapper=pd.ArrowDtype)  # whole numbers stay whole beside nulls
        frame.to_csv(temporary, sep="\t", index=False, lineterminator="\n")


def write_text(text: str, path: str | Path) -> None:
    """Write a text file."""
    with written(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def read(path: str | Path, columns: list[str] | None = None) -> pa.Table:
    """Read a Parquet file, or some of its columns."""
    # Through a handle: pyarrow reads partition keys into a path such as `a=b/c.parquet`.
    with open(path, "rb") as handle:
        return pq.read_table(handle, columns=columns)


def metadata(path: str | Path) -> dict[str, str]:
    """Key-value metadata of a Parquet file."""
    pairs = pq.read_schema(path).metadata or {}
    return {key.decode(): value.decode() for key, value in pairs.items()}


def arrow_schema(path: str | Path) -> pa.Schema:
    """Names and types of a Parquet file's columns."""
    return pq.read_schema(path).remove_metadata()


def embeddings_table(receptor_ids: pa.ChunkedArray, vectors: np.ndarray) -> pa.Table:
    """
    ``embeddings`` of receptors.

    Parameters
    ----------
    receptor_ids : pyarrow.ChunkedArray
        One for each vector.
    vectors : ndarray of float32, shape (n, d)
        NaN where a receptor has no vector; null in the table.
    """
    columns = [pa.array(column, from_pandas=True) for column in np.ascontiguousarray(vectors.T)]
    return pa.table([receptor_ids, *columns], schema=schema.embeddings(vectors.shape[1]))
