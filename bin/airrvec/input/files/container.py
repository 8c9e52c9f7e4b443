"""Common parts of containers: opening a file, its batches of rows, and its errors."""

import bz2
import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from airrvec.core.errors import InputError, no_file
from airrvec.input.values import MISSING

import numpy as np
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

    @property
    def delimiter(self) -> str | None: ...

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


# --- Files as UTF-8 bytes: decompressed, taken out of a zip, converted from UTF-16, by their first bytes

# What reading a damaged file raises.
DAMAGED = (EOFError, OSError, zlib.error, UnicodeError, zipfile.BadZipFile)

# First four bytes → encoding: a mark, or letters with the zeros between them that UTF-8 has not.
_ENCODINGS = {
    re.compile(re.escape(codecs.BOM_UTF32_LE) + b"|" + re.escape(codecs.BOM_UTF32_BE)): "utf-32",
    re.compile(re.escape(codecs.BOM_UTF16_LE) + b"|" + re.escape(codecs.BOM_UTF16_BE)): "utf-16",
    re.compile(rb"[\t -~]\0\0\0"): "utf-32-le",
    re.compile(rb"\0\0\0[\t -~]"): "utf-32-be",
    re.compile(rb"([\t -~]\0){2}"): "utf-16-le",
    re.compile(rb"(\0[\t -~]){2}"): "utf-16-be",
}


def open_bytes(path: str | Path) -> io.BufferedIOBase:
    """
    Open a file for reading bytes.

    gzip, bzip2, zstd and a zip of one table are detected by their content and unpacked; text in UTF-16, as
    Excel saves "Unicode text", or in UTF-32 becomes UTF-8.

    Raises
    ------
    InputError
        If there is no such file, or it is a zip of no or several tables, or a workbook of Excel.
    """
    path = Path(path)
    if not path.is_file():
        raise no_file(path)
    unpack = unpacker(path)
    try:
        return as_utf_8(unpack(path) if unpack else path.open("rb"))
    except DAMAGED as error:
        raise damaged(path, error) from error


def unpacker(path: Path) -> Callable | None:
    """Return the function that unpacks a file, from its path or the opened file; None if it is not packed."""
    with path.open("rb") as file:
        return _unpacker(file.read(4))


def _unpacker(magic: bytes) -> Callable | None:
    return next((unpack for signature, unpack in _PACKED.items() if magic.startswith(signature)), None)


def as_utf_8(handle) -> io.BufferedIOBase:
    """Return the bytes of an opened text, converted if they begin as UTF-16 or UTF-32."""
    if not handle.seekable():  # zstd
        return handle
    start = handle.read(4)
    handle.seek(0)
    encoding = next((name for pattern, name in _ENCODINGS.items() if pattern.match(start)), None)
    if encoding is None:
        return handle
    return pa.transcoding_input_stream(pa.PythonFile(handle, "r"), encoding, "utf-8")


def damaged(path, error: Exception) -> InputError:
    """Return the error for a file whose reading raised one of `DAMAGED`."""
    if isinstance(error, UnicodeError):
        return InputError(
            "the text begins as UTF-16 or UTF-32, and ends within a character or holds what is none",
            file=path,
            fix="Copy it again, or save the table as UTF-8: in Excel, 'CSV UTF-8'",
        )
    if isinstance(error, OSError) and error.errno:  # of the system, not of what unpacks
        fix = "Check who may read it" if Path(path).is_file() else None
        return (
            InputError(f"it cannot be read ({error.strerror})", file=path, fix=fix) if fix else no_file(path)
        )
    return InputError(
        "the compressed file is truncated or damaged",
        file=path,
        fix="Copy or download it again and compare its size or checksum with the original",
    )


# Tables of a release of VDJdb, a zip with texts beside them; the first has both chains of a pair in a row.
_RELEASE = ("vdjdb_full.txt", "vdjdb.txt", "vdjdb.slim.txt")


def _release_table(members: list[str]) -> str | None:
    """Return the table that is read of the files in a release of VDJdb; None if they are no release."""
    names = {Path(name).name: name for name in members}
    return next((names[table] for table in _RELEASE if table in names), None) if len(members) > 1 else None


def release_note(path: str | Path) -> str | None:
    """Return which table of a release of VDJdb is read, and which not; None if a file is no such zip."""
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        members = archive.namelist()
    if not (table := _release_table(members)):
        return None
    rest = [name for name in _RELEASE if name != Path(table).name and name in {Path(m).name for m in members}]
    return f"of the release of VDJdb, {Path(table).name} is read" + (
        f", not {' and '.join(rest)}, which have the same records" if rest else ""
    )


def _open_zip(source: Path | BinaryIO):
    archive, path = zipfile.ZipFile(source), source if isinstance(source, Path) else source.name
    members = [name for name in archive.namelist() if not name.endswith("/") and name[:8] != "__MACOSX"]
    if "[Content_Types].xml" in members:
        raise InputError(
            "is a workbook of Excel",
            file=path,
            fix="Save its sheet as text: 'CSV UTF-8' or 'Text (tab delimited)'",
        )
    tables = [name for name in members if Path(name).name[:1] != "."]
    if release := _release_table(tables):
        tables = [release]
    if len(tables) != 1:
        named = f": {', '.join(tables[:8])}{', …' if len(tables) > 8 else ''}" if tables else ""
        raise InputError(
            f"is a zip of {len(tables)} files{named}",
            file=path,
            fix="Unpack it, and give the one table that is meant",
        )
    member = archive.open(tables[0])
    unpack = _unpacker(member.read(4))
    member.seek(0)
    if unpack is _open_zip:  # a zip may hold itself
        raise InputError(
            f"is a zip of another, {tables[0]}", file=path, fix="Unpack it, and give the table itself"
        )
    return unpack(member) if unpack else member


# First bytes → function that opens the file.
_PACKED: dict[bytes, Callable] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": lambda source: pa.CompressedInputStream(source, "zstd"),
    b"PK\x03\x04": _open_zip,
    b"PK\x05\x06": _open_zip,  # of no file
}


# --- Text in blocks of whole lines, checked before they are parsed

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
