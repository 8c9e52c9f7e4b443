"""A smaller case that fails in the same way: delta debugging by lines, columns and bytes."""

import bz2
import gzip
import time
import zlib
from collections.abc import Callable
from dataclasses import replace

from fuzz.corpus import Case

_PIECES = 512  # of a file's bytes
_UNPACKED = {b"\x1f\x8b": gzip.decompress, b"BZh": bz2.decompress}


def minimised(case: Case, fails: Callable[[Case], bool], seconds: float = 60) -> Case:
    """
    A case with less in its files and options that still fails.

    Parameters
    ----------
    case : Case
        It fails.
    fails : callable
        Tells whether another one fails in the same way.
    seconds : float
        After these the smallest case so far is taken.
    """
    end = time.monotonic() + seconds

    def with_file(name: str, content: bytes) -> Case:
        return replace(case, files={**case.files, name: content})

    def tried(candidate: Case) -> bool:
        return time.monotonic() < end and fails(candidate)

    # A number of rows, where it is known, is that of the file as it was.
    for option in sorted(case.options, key=lambda name: name != "n_rows"):
        candidate = replace(case, options={key: case.options[key] for key in case.options if key != option})
        if option not in ("sample", "column_map") and tried(candidate):
            case = candidate
    for name in case.files:
        for unpack in _UNPACKED.values():
            if (plain := _unpacked(unpack, case.files[name])) and tried(with_file(name, plain)):
                case = with_file(name, plain)
        for taken_apart in (_lines, _columns, _bytes):
            parts, joined = taken_apart(case.files[name])
            if parts:
                parts = smallest(
                    parts, lambda parts, name=name, joined=joined: tried(with_file(name, joined(parts)))
                )
                case = with_file(name, joined(parts))
    return case


def smallest(parts: list, fails: Callable[[list], bool]) -> list:
    """A part of a list that still fails, of which no single element can be left out (Zeller's ddmin)."""
    size = len(parts) // 2
    while size:
        for start in range(0, len(parts), size):
            rest = parts[:start] + parts[start + size :]
            if rest and fails(rest):
                parts, size = rest, min(size, len(rest))
                break
        else:
            size //= 2
    return parts


def _unpacked(unpack: Callable[[bytes], bytes], content: bytes) -> bytes | None:
    try:
        return unpack(content)
    except (OSError, EOFError, ValueError, zlib.error):
        return None


def _lines(content: bytes) -> tuple[list, Callable[[list], bytes]]:
    return content.splitlines(keepends=True), b"".join


def _columns(content: bytes) -> tuple[list, Callable[[list], bytes]]:
    """The columns of a table without quotation marks."""
    lines = content.split(b"\n")
    separator = b"\t" if b"\t" in lines[0] else b","
    rows = [line.split(separator) for line in lines if line]
    if b'"' in content or len({len(row) for row in rows}) != 1:
        return [], b"".join
    return list(zip(*rows, strict=True)), lambda columns: b"".join(
        separator.join(row) + b"\n" for row in zip(*columns, strict=True)
    )


def _bytes(content: bytes) -> tuple[list, Callable[[list], bytes]]:
    size = max(1, len(content) // _PIECES)
    return [content[at : at + size] for at in range(0, len(content), size)], b"".join
