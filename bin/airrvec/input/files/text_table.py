"""Delimited text as Arrow tables of strings."""

import codecs
import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.core.terminal import counted
from airrvec.input.files.container import (
    DAMAGED,
    LINE_LIMIT,
    Block,
    MalformedRow,
    TextBatch,
    damaged,
    first_line,
    open_bytes,
    read_blocks,
    read_lines,
)
from airrvec.input.values import MISSING

import numpy as np
import pyarrow as pa
import pyarrow.csv


@dataclass(frozen=True)
class _Misfit:
    """A line whose number of cells differs from the header's; ``number`` counts from 0 in its block."""

    number: int
    n_cells: int
    text: str


@dataclass
class RowReader:
    """
    Reader of the blocks of a file, in order.

    Attributes
    ----------
    names : list of str
        All columns of the file, with unique names.
    wanted : list of str
        Columns to read.
    delimiter : str
        Tab or comma.
    least : int
        Minimum number of cells in a row; a row with fewer cells than the header is filled with empty cells.
    n_rows : int
        Number of rows read so far.
    """

    names: list[str]
    wanted: list[str]
    delimiter: str
    least: int
    n_rows: int = 0
    _fewest: int = field(init=False)

    def __post_init__(self):
        self._fewest = len(self.names)  # fewest cells of an accepted row so far

    def read(self, block: Block) -> TextBatch | None:
        """Return the rows of a block; None if an open quotation mark joins lines."""
        table, misfits = self._parsed(block.content)
        if len(table) + len(misfits) != block.n_lines:
            return None
        short, malformed = [], []
        for row in misfits:
            (short if self._is_filled(row, block) else malformed).append(row)
        numbers = np.delete(np.arange(block.n_lines), [row.number for row in misfits])
        if short:
            empty = [self.delimiter * (len(self.names) - row.n_cells) for row in short]
            lines = "\n".join(row.text + cells for row, cells in zip(short, empty, strict=True))
            filled, rejected = self._parsed(lines.encode())
            if rejected or len(filled) != len(short):
                return None
            numbers = np.append(numbers, [row.number for row in short])
            order = np.argsort(numbers)
            table, numbers = pa.concat_tables([table, filled]).take(order), numbers[order]
        table = table.append_column("row", pa.array(numbers + self.n_rows + 1))
        bad = [self._malformed(row) for row in malformed]
        self.n_rows += block.n_lines
        return TextBatch(table, block.n_lines, bad, len(short))

    def _malformed(self, row: _Misfit) -> MalformedRow:
        reason = f"holds {counted(row.n_cells, 'field')}, the header {len(self.names)}"
        return MalformedRow(self.n_rows + row.number + 1, reason)

    def _is_filled(self, row: _Misfit, block: Block) -> bool:
        """Return True if a row lacks only its last cells and the file was not truncated within it."""
        if not self.least <= row.n_cells < len(self.names):
            return False
        is_last = row.number == block.n_lines - 1 and not block.content.endswith((b"\n", b"\r"))
        if is_last and row.n_cells < self._fewest:
            return False
        self._fewest = min(self._fewest, row.n_cells)
        return True

    def _parsed(self, content: bytes) -> tuple[pa.Table, list[_Misfit]]:
        misfits: list[_Misfit] = []

        def skip_misfit(row) -> str:
            misfits.append(_Misfit(row.number - 1, row.actual_columns, row.text))
            return "skip"

        if content.startswith(codecs.BOM_UTF8):  # that of a cell: Arrow takes one away from what it is given
            content = codecs.BOM_UTF8 + content
        table = pyarrow.csv.read_csv(
            pa.py_buffer(content),
            # One thread: only then do misfits have row numbers. One block: no row may span two.
            read_options=pa.csv.ReadOptions(
                column_names=self.names, use_threads=False, block_size=len(content) + 1
            ),
            parse_options=pa.csv.ParseOptions(delimiter=self.delimiter, invalid_row_handler=skip_misfit),
            convert_options=pa.csv.ConvertOptions(
                include_columns=self.wanted,
                column_types={name: pa.string() for name in self.wanted},
                null_values=MISSING,
                strings_can_be_null=True,
            ),
        )
        return table, misfits


# --- The table

BLOCK_SIZE = 8 << 20  # bytes of text in a batch
N_LINES = 20  # after the header, which tell whether they begin with the name of a row

csv.field_size_limit(LINE_LIMIT)


@dataclass(frozen=True)
class Header:
    """
    First lines of a table.

    Attributes
    ----------
    path : str or Path
        Path of the file.
    rows : list of list of str
        Cells of the header and of the line after it; a ``#`` before the first name is removed, and a name is
        added to those of R's tables with row names.
    delimiter : str
        Tab or comma.
    n_before : int
        Number of lines before the header, empty lines not counted.
    """

    path: str | Path
    rows: list[list[str]]
    delimiter: str
    n_before: int

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the names of the columns; the two names of a two-row header are joined by a blank."""
        return [" ".join(cells).strip() for cells in zip(*self.rows[:header_rows], strict=False)]

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield batches as in `read_batches`."""
        return read_batches(self, columns, header_rows=header_rows, needed=needed)


def read_header(path: str | Path) -> Header:
    """
    Read the header of a table: the first line that is neither blank nor a comment.

    Lines before it that begin with ``#`` are comments. The last comment is the header if none of its
    cells is empty and it matches the line after it: VDJtools and TRUST4 write ``#count``.

    Raises
    ------
    InputError
        If the file is empty, damaged, or not text.
    """
    n_before, comment, lines = 0, None, []
    with open_bytes(path) as handle:
        try:
            for line in read_lines(handle, path):
                text = line.decode("utf-8", errors="replace").removeprefix("\ufeff")
                if lines:
                    lines.append(text)
                    if len(lines) > N_LINES or not _is_longer(text, lines[0]):
                        break
                    continue
                # For Excel, which reads the separator from it.
                if text.lower().lstrip('"').startswith("sep="):
                    n_before += 1
                    continue
                if text.startswith("#"):
                    comment = n_before, text
                elif text.strip():
                    lines.append(text)
                    continue
                n_before += 1
        except DAMAGED as error:
            raise damaged(path, error) from error
    if comment and _is_header(comment[1], lines):
        n_before, lines = comment[0], [comment[1].removeprefix("#"), *lines]
    if not lines:
        raise InputError(
            "the file holds comments (#) and no table" if comment else "the file is empty", file=path
        )
    delimiter = _delimiter(path, lines[0])
    rows = [[name.strip() for name in _cells(line, delimiter)] for line in lines]
    longer = len(lines) > 2 and all(_is_longer(line, lines[0]) for line in lines[1:])
    if longer and any(row[-1] for row in rows[1:]):  # else each row ends with a separator
        if len({row[0] for row in rows[1:]}) < len(rows) - 1:
            raise InputError(
                f"the header holds {len(rows[0])} names, and each row {len(rows[1])} fields",
                file=path,
                fix="Name every column; in R, write.table(…, row.names = FALSE)",
            )
        rows[0].insert(0, "")
    return Header(path, rows[:2], delimiter, n_before)


def _is_longer(line: str, header: str) -> bool:
    """Return True if a line has one field more than the header, as R's `write.table` writes row names."""
    delimiter = "\t" if "\t" in header else ","
    return len(_cells(line, delimiter)) == len(_cells(header, delimiter)) + 1


def _is_header(comment: str, lines: list[str]) -> bool:
    """Return True if a line that begins with ``#`` contains the column names of the line after it."""
    if comment.startswith("##"):
        return False
    delimiter = "\t" if "\t" in (lines or [comment])[0] else ","
    names = _cells(comment.removeprefix("#"), delimiter)
    n_cells = len(_cells(lines[0], delimiter)) if lines else len(names)
    # A comment may contain commas; the last cells of a row may be missing.
    fits = len(names) >= n_cells if delimiter == "\t" else len(names) == n_cells
    return fits and len(names) > 1 and all(name.strip() for name in names)


def _cells(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter))


def _delimiter(path, header: str) -> str:
    """Return tab or comma; raise `InputError` for another separator."""
    if "\t" in header:
        return "\t"
    for character, name in {";": "semicolons", "|": "vertical bars"}.items():
        if header.count(character) > header.count(","):
            raise InputError(
                f"the columns are separated by {name}, and airrvec reads tabs and commas",
                file=path,
                fix="Save the table as tab- or comma-separated text; from Python, "
                f"`pandas.read_csv(…, sep='{character}').to_csv(…, index=False)`",
            )
    return ","


def read_batches(
    head: Header, columns: list[str], *, header_rows: int = 1, needed: tuple[str, ...] = ()
) -> Iterator[TextBatch]:
    """
    Read columns of a table as strings, blanks and ``None`` as nulls, one block at a time.

    Parameters
    ----------
    head : Header
        Header from `read_header`.
    columns : list of str
        Columns to read; columns that the file lacks are skipped.
    header_rows : int
        Number of header lines, after any comments.
    needed : tuple of str
        Columns that every row must reach. A row whose last cells are missing is filled with empty cells
        if none of these columns is missing.

    Yields
    ------
    TextBatch
        Rows in file order.

    Raises
    ------
    InputError
        If the file is damaged, has a header and no rows, a cell of several lines, or a line that
        `airrvec.input.files.container.read_blocks` refuses; earlier rows may have been yielded by then.
    """
    path, header, delimiter = head.path, head.names(header_rows), head.delimiter
    # A name that occurs twice is read once, from its first column.
    names = [name if name not in header[:index] else f"{name}\0{index}" for index, name in enumerate(header)]
    wanted = [name for name in columns if name in names]
    least = 1 + max((names.index(name) for name in needed if name in names), default=len(names) - 1)
    rows = RowReader(names, wanted, delimiter, least)
    column_at = partial(_column_at, header, delimiter)
    try:
        with open_bytes(path) as handle:
            for block in read_blocks(handle, path, BLOCK_SIZE, head.n_before + header_rows, column_at):
                batch = rows.read(block)
                if batch is None:
                    raise _open_quote(path, rows.n_rows + 1, block.content, column_at, delimiter)
                yield batch
    except DAMAGED as error:
        raise damaged(path, error) from error
    except pa.ArrowInvalid as error:
        raise InputError(f"the table cannot be read ({first_line(error)})", file=path) from error
    if rows.n_rows == 0:
        raise InputError("the file has a header and no rows", file=path)


def _column_at(header: list[str], delimiter: str, line: bytes) -> str | None:
    """Return the column in which the beginning of a line ends."""
    try:
        cells = next(csv.reader([line.decode("latin-1")], delimiter=delimiter))
    except csv.Error:
        return None
    return header[len(cells) - 1] if len(cells) <= len(header) else None


def _open_quote(path, first_row: int, content: bytes, column_at: Callable, delimiter: str) -> InputError:
    """Return the error for the first row with a quotation mark that is not closed on its line."""
    row = column = None
    for number, line in enumerate(filter(None, content.splitlines()), start=first_row):
        try:
            next(csv.reader([line.decode("latin-1")], delimiter=delimiter, strict=True))
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                row, column = number, column_at(line)
                break
    return InputError(
        "a quotation mark is not closed on its line, so that rows would run together",
        file=path,
        row=row,
        column=column,
        fix="Remove the quotation mark, or the line break within the cell",
    )
