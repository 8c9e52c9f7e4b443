"""Lines and cells of a samplesheet."""

import gzip
import re
import zlib
from pathlib import Path

from airrvec.core.errors import InputError, no_file
from airrvec.input.files.unpacking import damaged

MOST_BYTES = 64 << 20  # 100,000 samples take a tenth of it
_LINE_END = re.compile(r"\r\n|\n|\r")
# One cell of a line. `csvCells` in subworkflows/local/samplesheet finds the tables with the same expression.
_CELL = re.compile(r'(?:^|(?<=,))(?:\s*"[^"]*(?:""[^"]*)*"\s*|[^,]*)(?=,|$)')
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"')
_BLANKS = "".join(map(chr, range(33)))  # characters that Groovy's `trim` removes


def lines(path: Path, n_bytes: int = MOST_BYTES) -> list[tuple[int, str]]:
    """
    Return the lines with more than blanks and commas, with their line numbers from 1.

    Raises
    ------
    InputError
        If the file has more than ``n_bytes`` bytes, is not UTF-8 text, or is empty.
    """
    content = _read(path, n_bytes + 1)
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"PK", b"BZh", b"\x28\xb5\x2f\xfd")) or b"\0" in content:
        raise InputError(
            "this is a binary file or text in UTF-16; a samplesheet is UTF-8 text, plain or gzip",
            file=path,
            fix="Save the samplesheet as CSV, comma-separated, in UTF-8",
        )
    if len(content) > n_bytes:
        raise InputError(
            f"the samplesheet is larger than {n_bytes >> 20} MB",
            file=path,
            fix="Give a list of tables, with the columns sample and path, not a table of receptors",
        )
    return _numbered(_decoded(content, path), path)


def first_line(path: Path) -> str:
    """
    Return the first line with text in the first 64 KiB of a file, or "" if there is none.

    Raises
    ------
    InputError
        If the file cannot be decompressed.
    """
    start = _read(path, 1 << 16)
    full = [line for line in _LINE_END.split(start.decode("utf-8-sig", "replace")) if line.strip(_BLANKS)]
    return full[0] if full else ""


def cells(line: str) -> list[str]:
    """
    Return the cells of a line.

    Raises
    ------
    ValueError
        If a quotation mark is not closed.
    """
    return [_unquoted(cell.strip(_BLANKS)) for cell in _CELL.findall(line)]


def _read(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, decompressed if it is gzip."""
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if compressed else open)(path, "rb") as handle:
            return handle.read(n_bytes)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise no_file(path) from error
    except (EOFError, zlib.error, OSError) as error:
        raise damaged(path, error) from error


def _unquoted(cell: str) -> str:
    if not cell.startswith('"'):
        return cell
    if not _QUOTED.fullmatch(cell):
        raise ValueError
    return cell[1:-1].replace('""', '"').strip(_BLANKS)


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.split(content[: error.start].decode("latin-1")))
        raise InputError(
            f"line {line} holds bytes that are not UTF-8 text",
            file=path,
            fix="Save it as CSV in UTF-8, or convert it, e.g. `iconv -f latin1 -t utf-8`",
        ) from error


def _numbered(text: str, path: Path) -> list[tuple[int, str]]:
    numbered = enumerate(_LINE_END.split(text), start=1)
    full = [(number, line) for number, line in numbered if line.strip(_BLANKS + ",")]
    if not full:
        needed = (
            "it needs the columns sample, path and, optionally, format, column_map, role, species and hla"
        )
        raise InputError(f"the samplesheet is empty; {needed}", file=path)
    return full
