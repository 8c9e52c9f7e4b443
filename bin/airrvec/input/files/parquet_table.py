"""Parquet files: columns of any simple type as Arrow tables of strings."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from airrvec.core.errors import InputError
from airrvec.core.tables import parquet_file
from airrvec.input.files.container import MAX_UNPACKED, TextBatch, open_seekable, strings, unreadable
from airrvec.input.files.lines import LINE_LIMIT

MAGIC = b"PAR1"
BATCH_ROWS = 100_000


class ParquetTable:
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

    delimiter = None

    def __init__(self, path: str | Path, limit: int = MAX_UNPACKED):
        self._path, self._limit = path, limit
        with self._opened() as file:
            self._schema = file.schema_arrow
            n_rows = file.metadata.num_rows
        if not n_rows:
            raise InputError("the file has columns and no rows", file=path)

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the names of the columns."""
        return self._schema.names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield the columns as strings, in batches of rows."""
        wanted = [name for name in columns if name in self._schema.names]
        for name in wanted:
            if pa.types.is_nested(self._schema.field(self._schema.names.index(name)).type):
                raise InputError("holds lists, not words or numbers", file=self._path, column=name)
        n_rows = 0
        with self._opened() as file:
            self._check_cells(file.metadata, wanted)
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=wanted):
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

    def write_beginning(self, path: Path) -> float:
        """Write the first 10,000 rows to a new file; return their share of all rows."""
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
