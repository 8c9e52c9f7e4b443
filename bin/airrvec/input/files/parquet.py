"""
Reader of Parquet files in a separate process: columns of any simple type as Arrow tables of strings.

`airrvec.input.files.parquet_table` asks it.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.core.tables import parquet_file
from airrvec.input.files.container import (
    LINE_LIMIT,
    MAX_UNPACKED,
    TextBatch,
    open_seekable,
    strings,
    unreadable,
)

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FEWEST_ROWS = 10_000  # of a batch but the last
_begun: dict[int, Iterator[TextBatch]] = {}  # of tables by the number that the asker gave them


def answer(path: str, limit: int, do: str, **request) -> tuple[dict, pa.Table | None]:
    """
    Answer a request about a file.

    Parameters
    ----------
    path : str
    limit : int
        As for `ParquetReader`.
    do : {"describe", "begin", "next", "close"}
        Return the columns' names; copy at most ``rows`` to the file ``part``; read the batch with the number
        ``place`` of the table ``number``, nothing after the last; forget this table.
    """
    if do == "describe":
        return {"names": ParquetReader(path, limit).names}, None
    if do == "begin":
        share = ParquetReader(path, limit).write_beginning(Path(request["part"]), request["rows"])
        return {"share": share}, None
    number = request["number"]
    if do == "close":
        _begun.pop(number, None)
        return {}, None
    if request["place"] == 0:
        _begun[number] = ParquetReader(path, limit).batches(request["columns"], request["rows"])
    if number not in _begun:  # another file has ended the process in between
        raise RuntimeError("the process that read it has ended")
    batch = next(_begun[number], None)
    return ({}, None) if batch is None else ({"n_rows": batch.n_rows}, batch.table)


class ParquetReader:
    """
    A Parquet file.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    limit : int
        Maximum number of unpacked bytes of a file that is compressed as a whole.

    Raises
    ------
    InputError
        If the file is damaged, too large, or has no rows; `batches` may raise it too.
    """

    def __init__(self, path: str | Path, limit: int = MAX_UNPACKED):
        self._path, self._limit = path, limit
        with self._opened() as file:
            self._schema = file.schema_arrow
            n_rows = file.metadata.num_rows
        if not n_rows:
            raise InputError("the file has columns and no rows", file=path)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return self._schema.names

    def batches(self, columns: list[str], rows: int) -> Iterator[TextBatch]:
        """Yield the columns as strings, in batches of about so many rows, or of those of a row group."""
        wanted = [name for name in columns if name in self._schema.names]
        for name in wanted:
            if pa.types.is_nested(self._schema.field(self._schema.names.index(name)).type):
                raise InputError("holds lists, not words or numbers", file=self._path, column=name)
        n_rows = 0
        with self._opened() as file:
            self._check_cells(file.metadata, wanted)
            for batch in _joined(file.iter_batches(batch_size=rows, columns=wanted), min(rows, FEWEST_ROWS)):
                # A name may occur twice; its first column is read.
                first = [strings(batch.column(batch.schema.names.index(name))) for name in wanted]
                numbers = pa.array(np.arange(n_rows + 1, n_rows + len(batch) + 1))
                n_rows += len(batch)
                yield TextBatch(pa.table([*first, numbers], names=[*wanted, "row"]), len(batch), [])

    def _check_cells(self, metadata: pq.FileMetaData, wanted: list[str]) -> None:
        """Raise `InputError` if cells are so large that no batch of them fits into memory."""
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            for column in map(group.column, range(group.num_columns)):
                mean = column.total_uncompressed_size / max(group.num_rows, 1)
                if column.path_in_schema in wanted and mean > LINE_LIMIT:
                    raise InputError(
                        f"holds cells of {mean / (1 << 20):,.0f} MB, and {LINE_LIMIT >> 20} MB are allowed",
                        file=self._path,
                        column=column.path_in_schema,
                    )

    def write_beginning(self, path: Path, rows: int) -> float:
        """Write the first rows to a new file; return their share of all rows."""
        with self._opened() as file:
            batch = next(file.iter_batches(batch_size=rows))
            pq.write_table(pa.Table.from_batches([batch]), path)
            return len(batch) / file.metadata.num_rows

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        try:
            with open_seekable(self._path, self._limit) as handle, parquet_file(handle) as file:
                yield file
        except (pa.ArrowException, OSError, ValueError, OverflowError, EOFError, zlib.error) as error:
            raise unreadable(self._path, "Parquet", error) from error


def _joined(batches: Iterator[pa.RecordBatch], fewest: int) -> Iterator[pa.RecordBatch]:
    """Join small row groups: what columns and rows are is found in the first batch."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= fewest:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
