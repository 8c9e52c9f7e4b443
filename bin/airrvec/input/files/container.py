"""Common parts of containers: opening a file, its batches of rows, and its errors."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from airrvec.core.errors import InputError
from airrvec.input.files.unpacking import as_utf_8, open_bytes, unpacker
from airrvec.input.values import MISSING

import pyarrow as pa
import pyarrow.compute as pc

_NULLS = pa.array(MISSING)

# Maximum number of bytes in memory for a file that is not read sequentially, unless the user allows more.
MAX_UNPACKED = 2 << 30


@dataclass(frozen=True)
class MalformedRow:
    """A row whose fields do not match the header, and the reason."""

    row: int
    reason: str


@dataclass(frozen=True)
class TextBatch:
    """
    Rows of a table, as strings.

    Attributes
    ----------
    table : pyarrow.Table
        Requested columns, and ``row``, the number of the data row in the file, from 1. A row of the file
        with a list of chains may be none or several rows here.
    n_rows : int
        Number of rows of the file in this batch, malformed rows included.
    malformed : list of MalformedRow
        Rows excluded from ``table``.
    n_filled : int
        Number of rows whose missing last cells were read as empty.
    """

    table: pa.Table
    n_rows: int
    malformed: list[MalformedRow]
    n_filled: int = 0


class Container(Protocol):
    """
    An opened file that contains a table.

    Attributes
    ----------
    delimiter : str or None
        Tab or comma for text, else None.
    """

    delimiter: str | None

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the column names of a header with ``header_rows`` rows."""

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield those ``columns`` that exist, as strings, in file order; rows must reach ``needed``."""


def read_beginning(path: str | Path, n_bytes: int) -> tuple[bytes, float]:
    """Return the first unpacked bytes of a file, and their share of the file, from 0 to 1."""
    path = Path(path)
    with path.open("rb") as file:
        unpack = unpacker(path)
        handle = as_utf_8(unpack(file) if unpack else file)
        is_packed = handle is not file
        content = handle.read(n_bytes)
        # Decompression reads ahead, bzip2 by up to 900 kB; reading more text makes that error smaller.
        n_read = len(content) + (len(handle.read(7 * n_bytes)) if is_packed else 0)
        if n_read < (8 if is_packed else 1) * n_bytes:
            return content, len(content) / n_read if n_read else 1.0
        return content, file.tell() / path.stat().st_size * len(content) / n_read


@contextmanager
def open_seekable(path: str | Path, limit: int) -> Iterator[io.IOBase]:
    """
    Open a file like `open_bytes`, for formats that are not read sequentially; decompress it in memory.

    Raises
    ------
    InputError
        If a compressed file contains more than ``limit`` bytes.
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
    Return values of any simple type as text without NUL characters; missing values (`MISSING`) become null.

    Raises
    ------
    pyarrow.ArrowInvalid
        If the values are not valid Arrow data or not UTF-8.
    """
    values.validate(full=True)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    text = pc.replace_substring(values.cast(pa.string()), "\0", "\ufffd")
    return pc.if_else(pc.is_in(text, _NULLS), pa.scalar(None, pa.string()), text)


def too_large(path, limit: int, column: str | None = None) -> InputError:
    """Return the error for a file that takes more memory, unpacked, than is allowed."""
    return InputError(
        f"takes more than {limit / (1 << 30):g} GB unpacked, the limit of --max_unpacked",
        file=path,
        column=column,
        fix="If this is right, raise --max_unpacked, or give the table as text or unpacked Parquet",
    )


def unreadable(path, kind: str, error: Exception) -> InputError:
    """Return the error for a file that starts like a file type but cannot be read as one."""
    return InputError(
        f"the {kind} file is damaged or is not {kind} ({first_line(error)})",
        file=path,
        fix="Copy or download it again and compare its size or checksum with the original",
    )


def first_line(error: Exception) -> str:
    """Return the first line of an error message, up to 200 characters."""
    text = str(error) or type(error).__name__
    return re.sub(r"\s+", " ", text.strip().splitlines()[0])[:200]
