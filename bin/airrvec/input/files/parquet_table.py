"""
Parquet files as Arrow tables of strings.

A separate process reads the file (`airrvec.input.files.parquet`), because Arrow may crash on a damaged file.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

from airrvec.input.files import separate
from airrvec.input.files.container import MAX_UNPACKED, TextBatch

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
        self._request = {"kind": separate.PARQUET, "path": str(path), "limit": limit}
        self._names = separate.process.ask(**self._request, do="describe")[0]["names"]

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the names of the columns."""
        return self._names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield the columns as strings, in batches of rows."""
        number = next(_numbers)
        asked = {**self._request, "number": number, "columns": columns, "rows": BATCH_ROWS}
        try:
            for place in count():
                answer, table = separate.process.ask(**asked, do="next", place=place)
                if table is None:
                    return
                yield TextBatch(table, answer["n_rows"], [])
        finally:
            separate.process.ask(**asked, do="close")

    def write_beginning(self, path: Path) -> float:
        """Write the first 10,000 rows to a new file; return their share of all rows."""
        ask = {"do": "begin", "part": str(path), "rows": BEGINNING_ROWS}
        return separate.process.ask(**self._request, **ask)[0]["share"]
