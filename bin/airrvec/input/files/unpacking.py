"""Files as UTF-8 bytes: decompressed, taken out of a zip, converted from UTF-16, by their first bytes."""

import bz2
import codecs
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from airrvec.core.errors import InputError, no_file

import pyarrow as pa

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
    return InputError(
        "the compressed file is truncated or damaged",
        file=path,
        fix="Copy or download it again and compare its size or checksum with the original",
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
