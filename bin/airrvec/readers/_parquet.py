"""Parquet: columns of any simple type to Arrow tables of strings."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airrvec.errors import InputError
from airrvec.readers._container import MAX_UNPACKED, TextBatch, open_seekable, strings, unreadable
from airrvec.readers._lines import LINE_LIMIT
from airrvec.tables import parquet_file

MAGIC = b"PAR1"
BATCH_ROWS = 100_000


class ParquetTable:
    """
    A Parquet file.

    Parameters
    ----------
    path : str or Path
        The file.
    limit : int
        Bytes that it may take unpacked, where it is packed as a whole.

    Raises
    ------
    InputError
        If the file is damaged, too large, or has no rows; `batches` may raise it too.
    """

    delimiter = None

    def __init__(self, path: str | Path, limit: int = MAX_UNPACKED):
        self._path, self._limit = path, limit
        with self._opened() as file:
            self._schema = file.schema_arrow
            n_rows = file.metadata.num_rows
        if not n_rows:
            raise InputError("the file has columns and no rows", file=path)

    def names(self, header_rows: int = 1) -> list[str]:
        """Names of the columns."""
        return self._schema.names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """The columns as strings, some rows at a time."""
        wanted = [name for name in columns if name in self._schema.names]
        for name in wanted:
            if pa.types.is_nested(self._schema.field(self._schema.names.index(name)).type):
                raise InputError("holds lists, not words or numbers", file=self._path, column=name)
        n_rows = 0
        with self._opened() as file:
            self._check_cells(file.metadata, wanted)
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
                # A name may occur twice: its first column is read.
                first = [strings(batch.column(batch.schema.names.index(name))) for name in wanted]
                numbers = pa.array(np.arange(n_rows + 1, n_rows + len(batch) + 1))
                n_rows += len(batch)
                yield TextBatch(pa.table([*first, numbers], names=[*wanted, "row"]), len(batch), [])

    def _check_cells(self, metadata: pq.FileMetaData, wanted: list[str]) -> None:
        """Refuse cells so large that no batch of them fits into memory."""
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

    def write_beginning(self, path: Path) -> float:
        """Write the first ten thousand rows to a file of their own; returns their share of all rows."""
        with self._opened() as file:
            batch = next(file.iter_batches(batch_size=BATCH_ROWS // 10))
            pq.write_table(pa.Table.from_batches([batch]), path)
            return len(batch) / file.metadata.num_rows

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        try:
            with open_seekable(self._path, self._limit) as handle, parquet_file(handle) as file:
                yield file
        except (pa.ArrowException, OSError, ValueError, OverflowError, EOFError, zlib.error) as error:
            raise unreadable(self._path, "Parquet", error) from error
