"""Files as UTF-8 bytes: decompressed, taken out of a zip, converted from UTF-16, by their first bytes."""

import bz2
import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from airrvec.core.errors import InputError, no_file

import pyarrow as pa

# What reading a damaged file raises.
DAMAGED = (EOFError, OSError, zlib.error, UnicodeError, zipfile.BadZipFile)

_ZIP = b"PK\x03\x04"
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_bytes(path: str | Path) -> io.BufferedIOBase:
    """
    Open a file for reading bytes.

    gzip, bzip2, zstd and a zip of one table are detected by their content and unpacked; text in UTF-16, as
    Excel saves "Unicode text", becomes UTF-8.

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
        raise damaged(path) from error


def unpacker(path: Path) -> Callable | None:
    """Return the function that unpacks a file, from its path or the opened file; None if it is not packed."""
    with path.open("rb") as file:
        magic = file.read(4)
    return next((unpack for signature, unpack in _PACKED.items() if magic.startswith(signature)), None)


def as_utf_8(handle) -> io.BufferedIOBase:
    """Return the bytes of an opened text, converted if they begin as UTF-16."""
    if not handle.seekable():  # zstd
        return handle
    start = handle.read(2)
    handle.seek(0)
    if start not in _UTF_16:
        return handle
    return pa.transcoding_input_stream(pa.PythonFile(handle, "r"), "utf-16", "utf-8")


def damaged(path) -> InputError:
    """Return the error for a packed file that ends early or cannot be unpacked."""
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
    return archive.open(tables[0])


# First bytes → function that opens the file.
_PACKED: dict[bytes, Callable] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\x28\xb5\x2f\xfd": lambda source: pa.CompressedInputStream(source, "zstd"),
    _ZIP: _open_zip,
}
