"""Text in blocks of whole lines, each checked before anything else reads it."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from airrvec.core.errors import InputError

# Bytes. Rows with the sequences of their chains have some thousands.
LINE_LIMIT = 4 << 20


@dataclass(frozen=True)
class Block:
    """
    Some whole lines of a text.

    Attributes
    ----------
    content : bytes
        UTF-8, without NUL.
    n_lines : int
        Lines that are not blank.
    """

    content: bytes
    n_lines: int


def read_blocks(
    handle: io.BufferedIOBase, path, size: int, n_before: int, column_at: Callable[[bytes], str | None]
) -> Iterator[Block]:
    """
    The lines of a text behind its header.

    Parameters
    ----------
    handle : file
        Opened for bytes.
    path : str or Path
        For messages.
    size : int
        Bytes that are read at a time.
    n_before : int
        Lines to leave out, blank ones not counted.
    column_at : callable
        The beginning of a line → the name of the column in which it ends.

    Raises
    ------
    InputError
        If a line is longer than `LINE_LIMIT`, is not UTF-8 or holds NUL; the error names row and column.
    """
    n_seen = 0
    for content in _cut_at_line_ends(handle, size):
        starts, ends = _lines(content)
        row = n_seen - n_before + 1
        n_seen += len(starts)
        n_header = min(max(1 - row, 0), len(starts))
        too_long = np.flatnonzero(ends - starts > LINE_LIMIT)
        if len(too_long):
            raise _too_long(path, row + int(too_long[0]))
        problem = _not_text(content)
        if problem:
            at, words, fix = problem
            number = int(np.searchsorted(starts, at, side="right")) - 1
            column = column_at(content[starts[number] : at + 1])
            raise InputError(words, file=path, row=max(row + number, 0), column=column, fix=fix)
        if n_header < len(starts):
            yield Block(content[starts[n_header] :], len(starts) - n_header)


def read_lines(handle: io.BufferedIOBase, path) -> Iterator[bytes]:
    """
    Lines of a file one by one, those without any character left out.

    Raises
    ------
    InputError
        If a line is longer than `LINE_LIMIT`, or the file is no text.
    """
    for content in _cut_at_line_ends(handle, 1 << 16):
        if b"\0" in content:
            raise InputError(
                "this is no text table but a binary file",
                file=path,
                fix="Give the table itself, as tab- or comma-separated text, gzip allowed",
            )
        for start, end in zip(*_lines(content), strict=True):
            if end - start > LINE_LIMIT:
                raise _too_long(path, 0)
            yield content[start:end]


def _cut_at_line_ends(handle: io.BufferedIOBase, size: int) -> Iterator[bytes]:
    """Pieces of a file that end where a line ends; a line that goes beyond its limit is cut there."""
    rest = b""
    while chunk := handle.read(size):
        content = rest + chunk
        # A carriage return at the very end may be half of a line end.
        cut = max(content.rfind(b"\n"), content.rfind(b"\r", 0, len(content) - 1)) + 1
        if not cut and len(content) > LINE_LIMIT + 1:
            cut = len(content)
        if cut:
            yield content[:cut]
        rest = content[cut:]
    if rest:
        yield rest


def _lines(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Where lines start and end, blank ones left out."""
    characters = np.frombuffer(content, np.uint8)
    at_break = characters == ord("\n")
    if b"\r" in content:
        at_break |= characters == ord("\r")
    breaks = np.flatnonzero(at_break)
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(content))
    full = ends > starts
    return starts[full], ends[full]


def _not_text(content: bytes) -> tuple[int, str, str] | None:
    """Where a text is none, what is wrong, and what to do."""
    if (at := content.find(b"\0")) >= 0:
        return at, "holds a NUL byte, which no text does", "Remove it, e.g. with `tr -d '\\000'`"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        words = "holds bytes that are not UTF-8 text"
        return error.start, words, "Convert the file, e.g. `iconv -f latin1 -t utf-8`"
    return None


def _too_long(path, row: int) -> InputError:
    return InputError(
        f"the line is longer than {LINE_LIMIT >> 20} MB",
        file=path,
        row=max(row, 0),
        fix="See that the file has line ends, and is a table of chains, receptors or cells",
    )
