"""Delimited text, whatever its state, to an Arrow table of strings."""

import codecs
import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from airrvec.errors import InputError

NULLS = ["", "None", "NA", "N/A", "NaN", "nan", "null", "NULL"]

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class MalformedRow:
    """A row whose fields do not fit the header."""

    row: int
    reason: str


@dataclass(frozen=True)
class TextTable:
    """
    The columns asked for, as strings.

    Attributes
    ----------
    table : pyarrow.Table
        With a column ``row``, the number of the data row in the file, from 1.
    n_rows : int
        Rows in the file, malformed ones included.
    malformed : list of MalformedRow
        Rows left out of ``table``.
    """

    table: pa.Table
    n_rows: int
    malformed: list[MalformedRow]


def open_text(path: str | Path) -> io.BufferedIOBase:
    """Open a file for reading bytes, unpacked where it is gzip by content, not by name."""
    path = Path(path)
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    with path.open("rb") as handle:
        magic = handle.read(2)
    return gzip.open(path, "rb") if magic == _GZIP else path.open("rb")


def read_header(path: str | Path) -> tuple[list[str], str]:
    """
    Column names of a table, and its delimiter (tab or comma).

    Raises
    ------
    InputError
        If the file is empty, damaged, or no text.
    """
    with open_text(path) as handle:
        try:
            start = handle.read(65_536)
        except (EOFError, OSError, zlib.error) as error:
            raise _damaged(path) from error
    if not start.strip():
        raise InputError("the file is empty", file=path)
    if b"\0" in start:
        raise _binary(path)
    line = start.splitlines()[0].decode("utf-8-sig", errors="replace")
    delimiter = "\t" if "\t" in line else ","
    return [name.strip() for name in next(csv.reader([line], delimiter=delimiter))], delimiter


def read_table(path: str | Path, columns: list[str]) -> TextTable:
    """
    Read some columns of a table as strings, blanks and ``None`` as nulls.

    Parameters
    ----------
    path : str or Path
        Tab- or comma-separated text with one header row.
    columns : list of str
        The columns to read; those that the file lacks are left out.

    Raises
    ------
    InputError
        If the file is empty, damaged, no text, not UTF-8, has a header and no rows, or has a cell
        of several lines.
    """
    header, delimiter = read_header(path)
    # A name that occurs twice is read once, from its first column.
    names = [name if name not in header[:index] else f"{name}\0{index}" for index, name in enumerate(header)]
    wanted = [name for name in columns if name in names]
    malformed = []

    def leave_out(row) -> str:
        malformed.append(
            MalformedRow(
                row.number - 1,
                f"holds {row.actual_columns} fields, the header {row.expected_columns}",
            )
        )
        return "skip"

    try:
        with open_text(path) as handle:
            lines = _CheckedLines(handle, path)
            table = pyarrow.csv.read_csv(
                lines,
                # One thread, as only then the malformed rows come with their numbers.
                read_options=pa.csv.ReadOptions(column_names=names, skip_rows=1, use_threads=False),
                parse_options=pa.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=leave_out),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=wanted,
                    column_types={name: pa.string() for name in wanted},
                    null_values=NULLS,
                    strings_can_be_null=True,
                ),
            )
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _damaged(path) from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path, header, delimiter) from error
    except pa.ArrowInvalid as error:
        if lines.count <= 1:
            raise _no_rows(path) from error
        if "out of sync" in str(error):
            raise _open_quote(path, header, delimiter) from error
        raise InputError(f"the table cannot be read ({_first_line(error)})", file=path) from error

    n_rows = len(table) + len(malformed)
    if n_rows == 0:
        raise _no_rows(path)
    if n_rows != lines.count - 1:
        raise _open_quote(path, header, delimiter)
    numbers = np.setdiff1d(np.arange(1, n_rows + 1), [bad.row for bad in malformed])
    return TextTable(table.append_column("row", pa.array(numbers, pa.int64())), n_rows, malformed)


class _CheckedLines:
    """
    A file for pyarrow: UTF-8 throughout, and its lines, blank ones left out, counted as they pass.

    pyarrow alone would let a quotation mark that is never closed swallow any number of rows, and
    would fail on a row that is malformed and no UTF-8 as well.
    """

    closed = False

    def __init__(self, handle: io.BufferedIOBase, path):
        self._handle, self._path = handle, path
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._at_line_start = True
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        chunk = self._handle.read(size)
        if b"\0" in chunk:
            raise _binary(self._path)
        self._decoder.decode(chunk, final=not chunk)
        if chunk:
            characters = np.frombuffer(chunk, np.uint8)
            text = (characters != ord("\n")) & (characters != ord("\r"))
            self.count += int(np.count_nonzero(text[1:] & ~text[:-1]) + (text[0] & self._at_line_start))
            self._at_line_start = not text[-1]
        return chunk


def _binary(path) -> InputError:
    return InputError(
        "this is no text table but a binary file",
        file=path,
        fix="Give the table itself, as tab- or comma-separated text, gzip allowed",
    )


def _no_rows(path) -> InputError:
    return InputError("the file has a header and no rows", file=path)


def _damaged(path) -> InputError:
    return InputError(
        "the gzip file is truncated or damaged",
        file=path,
        fix="Copy or download it again and compare its size or checksum with the original",
    )


def _first_line(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error).splitlines()[0])[:200]


def _data_lines(path) -> Iterator[tuple[int, str]]:
    """Numbers and lines of the data rows, every byte a character."""
    with open_text(path) as handle:
        lines = (line.rstrip("\n") for line in io.TextIOWrapper(handle, "latin-1"))
        yield from islice(enumerate(filter(None, lines)), 1, None)


def _column_at(header: list[str], line: str, delimiter: str) -> str | None:
    """The column in which the beginning of a line ends."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        return None
    return header[len(cells) - 1] if len(cells) <= len(header) else None


def _not_utf8(path, header: list[str], delimiter: str) -> InputError:
    """Name the first row and column that are not UTF-8."""
    row = column = None
    for number, line in _data_lines(path):
        try:
            line.encode("latin-1").decode("utf-8")
        except UnicodeDecodeError as error:
            row, column = number, _column_at(header, line[: error.start + 1], delimiter)
            break
    return InputError(
        "holds bytes that are not UTF-8 text",
        file=path,
        row=row,
        column=column,
        fix="Convert the file, e.g. `iconv -f latin1 -t utf-8`",
    )


def _open_quote(path, header: list[str], delimiter: str) -> InputError:
    """Name the first row with a quotation mark that its own line does not close."""
    row = column = None
    for number, line in _data_lines(path):
        try:
            next(csv.reader([line], delimiter=delimiter, strict=True))
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                row, column = number, _column_at(header, line, delimiter)
                break
    return InputError(
        "a quotation mark is not closed on its line, so that rows would run together",
        file=path,
        row=row,
        column=column,
        fix="Remove the quotation mark, or the line break within the cell",
    )
