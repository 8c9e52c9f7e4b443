"""Lines for people on the terminal, and numbers with their nouns."""

import sys
import traceback
from typing import TextIO


def counted(n: int, one: str, many: str | None = None) -> str:
    """
    Return a number with its noun, such as "1 study" or "1,200 studies"; ``many`` is ``one`` with an s.

    Examples
    --------
    >>> counted(1, "study"), counted(1200, "study", "studies")
    ('1 study', '1,200 studies')
    """
    return f"{n:,} {one if n == 1 else many or f'{one}s'}"


def shortened(text: str, n: int) -> str:
    """Return a text of at most ``n`` letters; a longer one ends in an ellipsis."""
    return text if len(text) <= n else f"{text[: n - 1]}…"


def printable(text: str) -> str:
    """Return text in one line, with control and invisible characters as escapes such as ``\\x1b``."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_lines(*lines: str, file: TextIO | None = None) -> None:
    """Print lines, each `printable`; to standard output if no file is given. No other code prints."""
    for line in lines:
        print(printable(line), file=file or sys.stdout, flush=True)


def print_warning(*lines: str) -> None:
    """Print lines to standard error, each `printable`."""
    print_lines(*lines, file=sys.stderr)


def print_tracebacks() -> None:
    """Make Python print the traceback of an error that nothing catches as `print_warning` prints lines."""

    def hook(kind, error, trace) -> None:
        print_warning(*"".join(traceback.format_exception(kind, error, trace)).splitlines())

    sys.excepthook = hook
