"""Tables that people open: a spreadsheet computes cells that begin as a formula, a terminal obeys escapes."""

import re

from airrvec.core.columns import by_distinct

import pyarrow as pa
import pyarrow.compute as pc

# Control characters, line breaks among them, and marks that reorder text.
_CONTROL = "[\\x00-\\x1f\\x7f-\\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
# First characters of a formula, also of full width, which some spreadsheets read alike.
_FORMULA = "[=+\\-@\uff1d\uff0b\uff0d\uff20]"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ODD = f"{_CONTROL}|^{_FORMULA}."


def cell(text: str) -> str:
    """
    Return text as a cell of a table for people.

    Control characters become escapes such as ``\\x1b``. Text that begins with ``=``, ``+``, ``-`` or ``@``
    gets an apostrophe before it, unless it is a number.
    """
    shown = re.sub(_CONTROL, lambda found: found[0].encode("unicode_escape").decode(), text)
    is_formula = len(shown) > 1 and re.match(_FORMULA, shown) and not _NUMBER.fullmatch(shown)
    return f"'{shown}" if is_formula else shown


def for_people(table: pa.Table) -> pa.Table:
    """Return a table with all names and texts as `cell` returns them; numbers stay."""
    for number, field in enumerate(table.schema):
        if not pa.types.is_string(field.type):
            continue
        column = table.column(number)
        if pc.any(pc.match_substring_regex(column, _ODD)).as_py():
            cells = by_distinct(column, lambda text: None if text is None else cell(text))
            table = table.set_column(number, field, cells)
    return table.rename_columns([cell(name) for name in table.column_names])
