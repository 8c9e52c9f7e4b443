"""What containers have in common: how a file is opened, and what comes out of it."""

import bz2
import gzip
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core.errors import InputError

NULLS = ["", "None", "NA", "N/A", "NaN", "nan", "null", "NULL"]
_NULLS = pa.array(NULLS)

# Bytes that a file which is not read from front to back may take in memory, unless the user allows more.
MAX_UNPACKED = 2 << 30

# The first bytes of a compressed file → how to open it.
_COMPRESSIONS = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": lambda file: pa.CompressedInputStream(file, "zstd"),
}


@dataclass(frozen=True)
class MalformedRow:
    """A row whose fields do not fit the header."""

    row: int
    reason: str


@dataclass(frozen=True)
class TextBatch:
    """
    Some rows of a table, as strings.

    Attributes
    ----------
    table : pyarrow.Table
        The columns asked for, and ``row``, the number of the data row in the file, from 1. Where a row
        of the file holds several chains in a list, it may be none or several rows here.
    n_rows : int
        Rows of the file that the batch stands for, malformed ones included.
    malformed : list of MalformedRow
        Those left out of ``table``.
    n_filled : int
        Rows whose last cells are missing in the file, and were taken as empty.
    """

    table: pa.Table
    n_rows: int
    malformed: list[MalformedRow]
    n_filled: int = 0


class Container(Protocol):
    """
    A file, opened, that holds a table in some way.

    Attributes
    ----------
    delimiter : str or None
        Tab or comma, of text.
    """

    delimiter: str | None

    def names(self, header_rows: int = 1) -> list[str]:
        """Names of the columns, where the header has so many rows."""

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Those of the columns that are there, as strings, in the file's order; rows must reach some."""


def open_bytes(path: str | Path) -> io.BufferedIOBase:
    """Open a file for reading bytes, unpacked where it is gzip, bzip2 or zstd by content, not by name."""
    path = Path(path)
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    with path.open("rb") as handle:
        magic = handle.read(4)
    for signature, opened in _COMPRESSIONS.items():
        if magic.startswith(signature):
            return opened(str(path))
    return path.open("rb")


def read_beginning(path: str | Path, n_bytes: int) -> tuple[bytes, float]:
    """The first unpacked bytes of a file, and the share of the file that they are, from 0 to 1."""
    path = Path(path)
    if not path.is_file():
        raise InputError("there is no such file", file=path)
    with path.open("rb") as file:
        magic = file.read(4)
        file.seek(0)
        opened = next((opened for start, opened in _COMPRESSIONS.items() if magic.startswith(start)), None)
        unpacked = opened(file) if opened else file
        content = unpacked.read(n_bytes)
        # Unpacking reads ahead, in bzip2 by a block of up to 900 kB: with more text that matters less.
        n_read = len(content) + (len(unpacked.read(7 * n_bytes)) if opened else 0)
        if n_read < (8 if opened else 1) * n_bytes:
            return content, len(content) / max(n_read, 1)
        return content, file.tell() / path.stat().st_size * len(content) / n_read


@contextmanager
def open_seekable(path: str | Path, limit: int) -> Iterator[io.IOBase]:
    """
    As `open_bytes`, for formats that are not read from front to back; unpacked in memory.

    Raises
    ------
    InputError
        If a packed file holds more than ``limit`` bytes.
    """
    with open_bytes(path) as handle:
        if isinstance(handle, io.BufferedReader):
            yield handle
            return
        content = io.BytesIO()
        while chunk := handle.read(1 << 20):
            if content.tell() + len(chunk) > limit:
                raise too_large(path, limit)
            content.write(chunk)
    content.seek(0)
    yield content


def strings(values: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """
    Values of any simple type as text without NUL characters, null where a word says nothing.

    Raises
    ------
    pyarrow.ArrowInvalid
        If they are no valid Arrow data, or no UTF-8.
    """
    values.validate(full=True)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    text = pc.replace_substring(values.cast(pa.string()), "\0", "\ufffd")
    return pc.if_else(pc.is_in(text, _NULLS), pa.scalar(None, pa.string()), text)


def damaged(path) -> InputError:
    """What to say of a compressed file that ends early or does not unpack."""
    return InputError(
        "the compressed file is truncated or damaged",
        file=path,
        fix="Copy or download it again and compare its size or checksum with the original",
    )


def too_large(path, limit: int, column: str | None = None) -> InputError:
    """What to say of a file that takes more memory, unpacked, than is allowed."""
    return InputError(
        f"takes more than {limit / (1 << 30):g} GB unpacked, the limit of --max_unpacked",
        file=path,
        column=column,
        fix="If this is right, raise --max_unpacked, or give the table as text or unpacked Parquet",
    )


def unreadable(path, kind: str, error: Exception) -> InputError:
    """What to say of a file that begins as one of a kind, and is none."""
    return InputError(
        f"the {kind} file is damaged, or is none ({first_line(error)})",
        file=path,
        fix="Copy or download it again and compare its size or checksum with the original",
    )


def first_line(error: Exception) -> str:
    """The beginning of an error's message."""
    text = str(error) or type(error).__name__
    return re.sub(r"\s+", " ", text.strip().splitlines()[0])[:200]
