"""Tables as spreadsheets: text stays text, headers explain their columns, two runs write the same bytes."""

import math
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from airrvec.core import tables
from airrvec.core.schema import NEVER
from airrvec.core.tables import atomic_path

import pyarrow as pa

LONGEST = 32_767  # letters of a cell, the most that a spreadsheet opens
_CUT = -2  # of XlsxWriter, for a text that is longer than a cell
_DATE = datetime(1980, 1, 1)  # of the file's properties: two runs write the same bytes
_WIDEST = 42  # letters, of a column
_NARROWEST = 8
_SEEN = 200  # rows by which columns get their width


class Sheet(NamedTuple):
    """
    A table for a spreadsheet.

    Attributes
    ----------
    name : str
        Of the sheet, at most 31 letters.
    parts : iterable of pyarrow.Table
        The rows; at least one table. Fields with the metadata of `airrvec.core.schema.described` explain
        themselves.
    most : int
        Rows that are written, the first ones.
    """

    name: str
    parts: Iterable[pa.Table]
    most: int = tables.SPREADSHEET


class Written(NamedTuple):
    """What went into a sheet: rows; rows beyond the most; cells that were cut."""

    rows: int
    left_out: int
    cut: int


def write(path: Path, sheet: Sheet, about: Callable[[Written], list[tuple[str, str]]]) -> Written:
    """
    Write a table as ``.xlsx``, with a sheet on its columns and one on the file.

    Parameters
    ----------
    path : Path
    sheet : Sheet
    about : callable
        What was written → lines of two cells for the sheet "About".
    """
    from xlsxwriter import Workbook

    with atomic_path(path) as temporary:
        options = {
            "constant_memory": True,  # rows go to the disk as they come
            "tmpdir": str(temporary.parent),
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        }
        book = Workbook(str(temporary), options)
        book.set_properties({"created": _DATE})
        formats = _Formats(book)
        parts = iter(sheet.parts)
        first = next(parts)
        written = _write_rows(book.add_worksheet(sheet.name), first, parts, sheet.most, formats)
        _write_columns(book.add_worksheet("Columns"), first.schema, formats)
        _write_about(book.add_worksheet("About"), about(written), formats)
        book.close()
    return written


class _Formats:
    def __init__(self, book):
        self.header = book.add_format({"bold": True, "bg_color": "#DCE6F1", "bottom": 1, "valign": "top"})
        self.bold = book.add_format({"bold": True, "valign": "top"})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})


def _write_rows(sheet, first: pa.Table, rest: Iterator[pa.Table], most: int, formats: _Formats) -> Written:
    """Write a header and the first rows below it, which stay in sight and can be filtered."""
    names = first.column_names
    for place, field in enumerate(first.schema):
        sheet.write_string(0, place, field.name, formats.header)
        if words := _explained(field):
            sheet.write_comment(0, place, words, {"x_scale": 2, "y_scale": 1 + len(words) // 160})
        sheet.set_column(place, place, _width(field.name, first.column(place).slice(0, _SEEN)))
    sheet.freeze_panes(1, 0)
    rows = left_out = cut = 0
    for part in _with(first, rest):
        kept = part.slice(0, most - rows)
        left_out += len(part) - len(kept)
        cut += _write_part(sheet, kept, rows + 1)
        rows += len(kept)
    sheet.autofilter(0, 0, max(rows, 1), len(names) - 1)
    return Written(rows, left_out, cut)


def _with(first: pa.Table, rest: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from rest


def _write_part(sheet, part: pa.Table, top: int) -> int:
    """Write rows from the row ``top`` on; return the number of texts that were cut."""
    columns = [_cells(part.column(place)) for place in range(part.num_columns)]
    writers = [_writer(sheet, field.type) for field in part.schema]
    n_cut = 0
    for row, line in enumerate(zip(*columns, strict=True), start=top):
        for place, value in enumerate(line):
            if value is None:
                continue
            n_cut += writers[place](row, place, value) == _CUT
    return n_cut


def _cells(column: pa.ChunkedArray) -> list:
    """Return values for cells: NaN is empty, as null is; control characters are escaped."""
    if pa.types.is_string(column.type):
        column = tables.map_distinct(column, lambda text: text if text is None else visible(text))
        return column.to_pylist()
    if pa.types.is_floating(column.type):
        return [None if value is None or not math.isfinite(value) else value for value in column.to_pylist()]
    return column.to_pylist()


def visible(text: str) -> str:
    """Return a text with control characters as escapes; unlike `tables.cell` it keeps a leading ``=``."""
    if text.isprintable():
        return text
    # The last two are no characters of XML.
    return tables.cell(f".{text}")[1:].replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def _writer(sheet, dtype: pa.DataType) -> Callable:
    if pa.types.is_boolean(dtype):
        return sheet.write_boolean
    return (
        sheet.write_number
        if pa.types.is_integer(dtype) or pa.types.is_floating(dtype)
        else sheet.write_string
    )


def _width(name: str, values: pa.ChunkedArray) -> float:
    longest = max((len(str(value)) for value in values.to_pylist() if value is not None), default=0)
    if pa.types.is_floating(values.type):
        longest = min(longest, 10)
    return min(max(longest, len(name) + 3, _NARROWEST), _WIDEST)


def _about(field: pa.Field, key: str) -> str:
    return (field.metadata or {}).get(key.encode(), b"").decode()


def _explained(field: pa.Field) -> str:
    """Return the meaning of a column, its unit and its null rule, for the comment of its header."""
    words = [_about(field, "description").replace("`", "").removesuffix(".")]
    unit, null = _about(field, "unit"), _about(field, "null")
    words += [f"Unit: {unit}".replace("`", "")] if unit else []
    words += [f"Empty: {null}".replace("`", "")] if null and null != NEVER else []
    return ". ".join(word for word in words if word)


def _write_columns(sheet, table_schema: pa.Schema, formats: _Formats) -> None:
    """Write what each column means."""
    for place, (title, width) in enumerate((("Column", 26), ("Meaning", 90), ("Unit", 14), ("Empty if", 40))):
        sheet.write_string(0, place, title, formats.header)
        sheet.set_column(place, place, width)
    sheet.freeze_panes(1, 0)
    for row, field in enumerate(table_schema, start=1):
        null = _about(field, "null")
        cells = (_about(field, "description"), _about(field, "unit"), "" if null == NEVER else null)
        sheet.write_string(row, 0, field.name, formats.bold)
        for place, text in enumerate(cells, start=1):
            if text:
                sheet.write_string(row, place, text.replace("`", ""), formats.wrapped)


def _write_about(sheet, lines: list[tuple[str, str]], formats: _Formats) -> None:
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 1, 110)
    for row, (name, text) in enumerate(lines):
        sheet.write_string(row, 0, visible(name), formats.bold)
        sheet.write_string(row, 1, visible(text), formats.wrapped)
