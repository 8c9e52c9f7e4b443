"""
Parquet files as Arrow tables of strings.

A separate process reads the file (`airrvec.input.files.parquet`), because Arrow may crash on a damaged file.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from airrvec.input.files import separate
from airrvec.input.files.container import MAX_UNPACKED, TextBatch

import pyarrow as pa

MAGIC = b"PAR1"
BATCH_ROWS = 100_000
BEGINNING_ROWS = 10_000

_numbers = count(1)  # of tables that are read, for the process


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
        self._path, self._limit = str(path), limit
        self._names = self._ask(do="describe")[0]["names"]

    def _ask(self, **request) -> tuple[dict, pa.Table | None]:
        return separate.process.ask(separate.PARQUET, self._path, limit=self._limit, **request)

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the names of the columns."""
        return self._names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield the columns as strings, in batches of rows."""
        number = next(_numbers)
        request = {"number": number, "columns": columns, "rows": BATCH_ROWS}
        try:
            for place in count():
                answer, table = self._ask(**request, do="next", place=place)
                if table is None:
                    return
                yield TextBatch(table, answer["n_rows"], [])
        finally:
            self._ask(**request, do="close")

    def write_beginning(self, path: Path) -> float:
        """Write the first 10,000 rows to a new file; return their share of all rows."""
        return self._ask(do="begin", part=str(path), rows=BEGINNING_ROWS)[0]["share"]
