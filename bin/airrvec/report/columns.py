"""Explanations of published columns in the headers of the report's tables."""

import re
from html import escape

from airrvec.core.schema import NEVER, TABLES
from airrvec.core.schema.published import without_links

_CODE = re.compile("`([^`]*)`")


def meaning(table: str, column: str) -> dict[str, str]:
    """
    Return what the header of a column says when it is pointed at: its meaning, and when it is empty.

    Parameters
    ----------
    table, column : str
        Names in `airrvec.core.schema.TABLES`.

    Examples
    --------
    >>> meaning("training_times", "seconds")
    {'description': 'Time since training started, without pauses'}
    """
    shown = TABLES[table][column]
    words = shown.text
    if shown.null != NEVER:
        words = f"{words.removesuffix('.')}. Empty: {without_links(shown.null)}."
    return {"description": _CODE.sub(r"<code>\1</code>", escape(words))}
