"""Records of files: checksum, size, rows and schema, taken by the task that writes or reads them."""

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from airrvec.core.pages import ERRORS

import pyarrow.parquet as pq

SEAL = b"airrvec SHA-256:"  # before the checksum, at the end of a file
_LENGTH = len(SEAL) + hashlib.sha256().digest_size


class DamagedError(Exception):
    """A file whose content is not what was written."""


def seal(path: Path) -> None:
    """Append the SHA-256 of a file to it."""
    digest = _sha256(path, path.stat().st_size)
    with path.open("ab") as file:
        file.write(SEAL + digest)


def is_sealed(path: Path) -> bool:
    """Return whether a file ends with a seal; what is before it may be damaged."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _LENGTH, 0))
        return file.read().startswith(SEAL)


def check(path: Path) -> int:
    """
    Return the number of bytes before the seal of a file.

    Raises
    ------
    DamagedError
        If the file is incomplete or differs from its SHA-256.
    FileNotFoundError, PermissionError
        As `open`.
    """
    size = path.stat().st_size - _LENGTH
    with path.open("rb") as file:
        file.seek(max(size, 0))
        ending = file.read()
    if not ending.startswith(SEAL):
        raise DamagedError("its end is missing")
    if _sha256(path, size) != ending.removeprefix(SEAL):
        raise DamagedError("its checksum differs")
    return size


def _sha256(path: Path, size: int) -> bytes:
    """Return the digest of the first ``size`` bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (block := file.read(min(size, 1 << 20))):
            digest.update(block)
            size -= len(block)
    return digest.digest()


# --- Records of files: checksum, size, rows and schema, taken by the task that writes or reads them

CHUNK = 1 << 20  # bytes in memory at once
MARK = "# "  # of a record in a file of versions, for which it is a comment


@dataclass(frozen=True)
class Record:
    """
    Size, checksum and form of a file.

    Attributes
    ----------
    sha256 : str
        64 hexadecimal digits.
    size : int
        Bytes.
    crc32 : str
        8 hexadecimal digits: Nextflow's JVM compares a hundred times as fast by it.
    rows : int or None
        Rows of a Parquet file, or lines of a TSV file below its header; None of other files.
    schema : str or None
        `schema_digest` of a Parquet or TSV file; None of other files.
    """

    sha256: str
    size: int
    crc32: str
    rows: int | None = None
    schema: str | None = None


def measure(path: str | Path) -> Record:
    """Read a file once and return its record; the rows and schema of a damaged Parquet file are None."""
    path = Path(path)
    digest, size, crc, lines, header, quoted = hashlib.sha256(), 0, 0, 0, b"", False
    is_tsv = path.suffix == ".tsv"
    for chunk in _chunks(path):
        digest.update(chunk)
        crc = zlib.crc32(chunk, crc)
        size += len(chunk)
        if is_tsv:
            header += b"" if b"\n" in header else chunk
            for part in chunk.split(b'"'):  # a line break in quotation marks ends no row
                lines += 0 if quoted else part.count(b"\n")
                quoted = not quoted
            quoted = not quoted
    checked = digest.hexdigest(), size, f"{crc:08x}"
    if is_tsv:
        columns = header.split(b"\n")[0].decode("utf-8", "replace").split("\t")
        return Record(*checked, max(lines - 1, 0), schema_digest(columns))
    if path.suffix == ".parquet":
        return Record(*checked, *_parquet(path))
    return Record(*checked)


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    digest = hashlib.sha256()
    for chunk in _chunks(Path(path)):
        digest.update(chunk)
    return digest.hexdigest()


def schema_digest(columns: list[str]) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of columns, one per line."""
    return hashlib.sha256("\n".join(columns).encode()).hexdigest()[:16]


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as handle:
        while chunk := handle.read(CHUNK):
            yield chunk


def _parquet(path: Path) -> tuple[int | None, str | None]:
    try:
        with pq.ParquetFile(path) as parquet:
            columns = [f"{field.name}: {field.type}" for field in parquet.schema_arrow]
            return parquet.metadata.num_rows, schema_digest(columns)
    except ERRORS:
        return None, None


_written: dict[str, None] = {}  # absolute paths, in order; a script that is called again begins anew


def begin() -> None:
    """Forget the files that were written before."""
    _written.clear()


def note(path: str | Path) -> None:
    """Note a file that has been written, for `lines`."""
    _written[os.path.abspath(path)] = None


def noted() -> list[Path]:
    """Return the files that the script has written, in order."""
    return [Path(path) for path in _written]


def lines(*, process: str, script: str, inputs: list[dict] | None = None) -> list[str]:
    """
    Return the records of all noted files, and of inputs, as comments of a file of versions.

    Parameters
    ----------
    process : str
        Name of the process, without those of its subworkflows.
    script : str
        Name of the script, without its ending.
    inputs : list of dict, optional
        ``path``, ``sample``, ``rows`` that were read.
    """
    about = {"process": process, "script": script}
    records = [
        {"kind": "result", "name": os.path.relpath(path), **about, **asdict(measure(path))}
        for path in _written
        if os.path.isfile(path)
    ]
    for source in inputs or []:
        record = asdict(measure(source["path"]))
        more = {"sample": source["sample"], "rows": source["rows"]}
        records.append({"kind": "input", "name": Path(source["path"]).name, **about, **record, **more})
    return [MARK + json.dumps(record, allow_nan=False) for record in records]


def without_records(versions: str) -> str:
    """Return the text of a file of versions without its records."""
    kept = [line for line in versions.splitlines(keepends=True) if not line.startswith(MARK)]
    return "".join(kept)
