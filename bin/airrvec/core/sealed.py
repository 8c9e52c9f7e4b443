"""Files that end with the SHA-256 of what is before it, which shows whether they are damaged."""

import hashlib
from pathlib import Path

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
