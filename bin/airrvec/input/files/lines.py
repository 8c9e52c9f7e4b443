"""Text in blocks of whole lines, checked before they are parsed."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from airrvec.core.errors import InputError

import numpy as np

# Bytes; a row with the sequences of its chains has a few thousand.
LINE_LIMIT = 4 << 20


@dataclass(frozen=True)
class Block:
    """
    Whole lines of a text.

    Attributes
    ----------
    content : bytes
        UTF-8, without NUL.
    n_lines : int
        Number of lines that are not empty.
    """

    content: bytes
    n_lines: int


def read_blocks(
    handle: io.BufferedIOBase, path, size: int, n_before: int, column_at: Callable[[bytes], str | None]
) -> Iterator[Block]:
    """
    Yield the lines of a text after its header, in blocks.

    Parameters
    ----------
    handle : file
        File opened for bytes.
    path : str or Path
        Path of the file, for messages.
    size : int
        Number of bytes read at a time.
    n_before : int
        Number of lines to skip, empty lines not counted.
    column_at : callable
        Beginning of a line → name of the column in which it ends.

    Raises
    ------
    InputError
        If a line is longer than `LINE_LIMIT`, is not UTF-8 or contains NUL; the error names row and column.
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
            at, sentence, fix = problem
            number = int(np.searchsorted(starts, at, side="right")) - 1
            column = column_at(content[starts[number] : at + 1])
            raise InputError(sentence, file=path, row=max(row + number, 0), column=column, fix=fix)
        if n_header < len(starts):
            yield Block(content[starts[n_header] :], len(starts) - n_header)


def read_lines(handle: io.BufferedIOBase, path) -> Iterator[bytes]:
    """
    Yield the lines of a file one by one, without empty lines.

    Raises
    ------
    InputError
        If a line is longer than `LINE_LIMIT`, or the file is not text.
    """
    for content in _cut_at_line_ends(handle, 1 << 16):
        if b"\0" in content:
            raise InputError(
                "this is a binary file, not a text table",
                file=path,
                fix="Give the table itself, as tab- or comma-separated text, gzip allowed",
            )
        for start, end in zip(*_lines(content), strict=True):
            if end - start > LINE_LIMIT:
                raise _too_long(path, 0)
            yield content[start:end]


def _cut_at_line_ends(handle: io.BufferedIOBase, size: int) -> Iterator[bytes]:
    """
    Yield pieces of a file that end at line ends; a line longer than `LINE_LIMIT` is cut.

    A last line without an end belongs to the piece before it.
    """
    rest, held = b"", b""
    while chunk := handle.read(size):
        content = rest + chunk
        # A carriage return at the end of a piece may be half of a line end.
        cut = max(content.rfind(b"\n"), content.rfind(b"\r", 0, len(content) - 1)) + 1
        if not cut and len(content) > LINE_LIMIT + 1:
            cut = len(content)
        if cut and held:
            yield held
        held = content[:cut] or held
        rest = content[cut:]
    if held or rest:
        yield held + rest


def _lines(content: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and ends of lines, without empty lines."""
    characters = np.frombuffer(content, np.uint8)
    at_break = characters == ord("\n")
    if b"\r" in content:
        at_break |= characters == ord("\r")
    breaks = np.flatnonzero(at_break)
    starts, ends = np.append(0, breaks + 1), np.append(breaks, len(content))
    full = ends > starts
    return starts[full], ends[full]


def _not_text(content: bytes) -> tuple[int, str, str] | None:
    """Return the place of the first byte that is not text, the problem and a fix; None if all is text."""
    if (at := content.find(b"\0")) >= 0:
        return at, "contains a NUL byte, which is not text", "Remove it, e.g. with `tr -d '\\000'`"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        sentence = "holds bytes that are not UTF-8 text"
        return error.start, sentence, "Convert the file, e.g. `iconv -f latin1 -t utf-8`"
    return None


def _too_long(path, row: int) -> InputError:
    return InputError(
        f"the line is longer than {LINE_LIMIT >> 20} MB",
        file=path,
        row=max(row, 0),
        fix="Check that the file has line ends, and is a table of chains, receptors or cells",
    )
