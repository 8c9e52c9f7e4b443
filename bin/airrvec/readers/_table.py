"""Delimited text, whatever its state, to an Arrow table of strings."""

import codecs
import csv
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from airrvec.errors import InputError
from airrvec.readers._container import NULLS, MalformedRow, TextBatch, damaged, first_line, open_bytes

BLOCK_SIZE = 8 << 20  # bytes of text in a batch


@dataclass(frozen=True)
class Header:
    """
    The first lines of a table.

    Attributes
    ----------
    path : str or Path
        The file.
    rows : list of list of str
        The cells of its first two lines, without the comments (``##``) before them; a single ``#``
        before the first name is no part of it.
    delimiter : str
        Tab or comma.
    n_comments : int
        Lines of comments before the header.
    """

    path: str | Path
    rows: list[list[str]]
    delimiter: str
    n_comments: int

    def names(self, header_rows: int = 1) -> list[str]:
        """Names of the columns; of a header of two rows, both joined by a blank."""
        return [" ".join(cells).strip() for cells in zip(*self.rows[:header_rows], strict=False)]

    def batches(self, columns: list[str], header_rows: int = 1) -> Iterator[TextBatch]:
        """As `read_batches`."""
        return read_batches(self, columns, header_rows=header_rows)


def read_header(path: str | Path) -> Header:
    """
    The header of a table.

    Raises
    ------
    InputError
        If the file is empty, damaged, or no text.
    """
    with open_bytes(path) as handle:
        try:
            start = handle.read(65_536)
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(path) from error
    if not start.strip():
        raise InputError("the file is empty", file=path)
    if b"\0" in start:
        raise _binary(path)
    lines = [line for line in start.decode("utf-8-sig", errors="replace").splitlines() if line.strip()]
    n_comments = next((number for number, line in enumerate(lines) if not line.startswith("##")), len(lines))
    if n_comments == len(lines):
        raise InputError("the file holds comments (##) and no table", file=path)
    lines = lines[n_comments : n_comments + 2]
    delimiter = "\t" if "\t" in lines[0] else ","
    lines[0] = lines[0].removeprefix("#")
    rows = [[name.strip() for name in next(csv.reader([line], delimiter=delimiter))] for line in lines]
    return Header(path, rows, delimiter, n_comments)


def read_batches(head: Header, columns: list[str], *, header_rows: int = 1) -> Iterator[TextBatch]:
    """
    Read some columns of a table as strings, blanks and ``None`` as nulls, a block at a time.

    Parameters
    ----------
    head : Header
        From `read_header`.
    columns : list of str
        The columns to read; those that the file lacks are left out.
    header_rows : int
        Lines of the header, after any comments.

    Yields
    ------
    TextBatch
        In the file's order.

    Raises
    ------
    InputError
        If the file is damaged, no text, not UTF-8, has a header and no rows, or has a cell of several
        lines; the rows before the damage may have been given out by then.
    """
    path, header, delimiter = head.path, head.names(header_rows), head.delimiter
    n_before = head.n_comments + header_rows
    # A name that occurs twice is read once, from its first column.
    names = [name if name not in header[:index] else f"{name}\0{index}" for index, name in enumerate(header)]
    wanted = [name for name in columns if name in names]
    malformed: list[MalformedRow] = []

    def leave_out(row) -> str:
        reason = f"holds {row.actual_columns} fields, the header {row.expected_columns}"
        malformed.append(MalformedRow(row.number - n_before, reason))
        return "skip"

    n_rows = 0
    try:
        with open_bytes(path) as handle:
            lines = _CheckedLines(handle, path)
            batches = pyarrow.csv.open_csv(
                lines,
                # One thread, as only then the malformed rows come with their numbers.
                read_options=pa.csv.ReadOptions(
                    column_names=names, skip_rows=n_before, use_threads=False, block_size=BLOCK_SIZE
                ),
                parse_options=pa.csv.ParseOptions(delimiter=delimiter, invalid_row_handler=leave_out),
                convert_options=pa.csv.ConvertOptions(
                    include_columns=wanted,
                    column_types={name: pa.string() for name in wanted},
                    null_values=NULLS,
                    strings_can_be_null=True,
                ),
            )
            for batch in batches:
                numbers, bad = _row_numbers(n_rows + 1, len(batch), malformed)
                table = pa.Table.from_batches([batch]).append_column("row", pa.array(numbers, pa.int64()))
                yield TextBatch(table, len(batch) + len(bad), bad)
                n_rows += len(batch) + len(bad)
    except (EOFError, OSError, zlib.error) as error:
        raise damaged(path) from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path, header, delimiter, n_before) from error
    except pa.ArrowInvalid as error:
        if lines.count <= n_before:
            raise _no_rows(path) from error
        if "out of sync" in str(error):
            raise _open_quote(path, header, delimiter, n_before) from error
        raise InputError(f"the table cannot be read ({first_line(error)})", file=path) from error

    last = [bad for bad in malformed if bad.row > n_rows]
    if last:
        yield TextBatch(_no_table(wanted), len(last), last)
        n_rows += len(last)
    if n_rows == 0:
        raise _no_rows(path)
    if n_rows != lines.count - n_before:
        raise _open_quote(path, header, delimiter, n_before)


def _row_numbers(first: int, n: int, malformed: list[MalformedRow]) -> tuple[np.ndarray, list[MalformedRow]]:
    """Numbers of ``n`` good rows from row ``first`` on, and the malformed rows before the last of them."""
    if not malformed or malformed[-1].row < first:
        return np.arange(first, first + n), []
    bad = sorted((row for row in malformed if row.row >= first), key=lambda row: row.row)
    numbers = np.setdiff1d(np.arange(first, first + n + len(bad)), [row.row for row in bad])[:n]
    return numbers, [row for row in bad if n and row.row < numbers[-1]]


def _no_table(columns: list[str]) -> pa.Table:
    fields = [*((name, pa.string()) for name in columns), ("row", pa.int64())]
    return pa.schema(fields).empty_table()


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


def _data_lines(path, n_before: int) -> Iterator[tuple[int, str]]:
    """Numbers and lines of the data rows, every byte a character."""
    with open_bytes(path) as handle:
        lines = (line.rstrip("\n") for line in io.TextIOWrapper(handle, "latin-1"))
        yield from enumerate(islice(filter(None, lines), n_before, None), start=1)


def _column_at(header: list[str], line: str, delimiter: str) -> str | None:
    """The column in which the beginning of a line ends."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter))
    except csv.Error:
        return None
    return header[len(cells) - 1] if len(cells) <= len(header) else None


def _not_utf8(path, header: list[str], delimiter: str, n_before: int) -> InputError:
    """Name the first row and column that are not UTF-8."""
    row = column = None
    for number, line in _data_lines(path, n_before):
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


def _open_quote(path, header: list[str], delimiter: str, n_before: int) -> InputError:
    """Name the first row with a quotation mark that its own line does not close."""
    row = column = None
    for number, line in _data_lines(path, n_before):
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
