"""Folders that appear complete or not at all, whose files are compared with sizes and checksums when used."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airrvec.app import temporary
from airrvec.core import records, tables
from airrvec.core.errors import InputError

ABOUT = "about.json"
OWN_CHECKSUMS = "records.bin"  # each of its cells has one (`airrvec.search.store`)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder; rename it to ``target`` at the end, unless another process was faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with temporary.new(target) as folder:
        yield folder
        try:
            folder.rename(target)
        except OSError:
            if not (target / ABOUT).is_file():
                raise
        else:
            (target / temporary.LOCK).unlink()


def seal(folder: Path, content: dict) -> None:
    """Write what a folder is, with the size and SHA-256 of each of its files, and a checksum of all this."""
    files = {}
    for path in sorted(part for part in folder.rglob("*") if part.is_file() and part.name != temporary.LOCK):
        checksum = records.sha256(path) if path.name != OWN_CHECKSUMS else None
        files[path.relative_to(folder).as_posix()] = [path.stat().st_size, checksum]
    content = {**content, "files": files}
    tables.write_json({**content, "sha256": digest(content)}, folder / ABOUT, indent=1)


def unseal(folder: Path, fix: str) -> dict:
    """
    Return what `seal` wrote, after a quick check: its checksum, and the size of each file.

    Raises
    ------
    InputError
        If the folder is damaged; ``fix`` is what to do then.
    """
    path = folder / ABOUT
    try:
        content = json.loads(path.read_bytes())
        checksum = content.pop("sha256")
        files = content["files"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("the file is damaged or missing", file=path, fix=fix) from error
    if checksum != digest(content):
        raise InputError("the file is damaged: it differs from its checksum", file=path, fix=fix)
    for name, (size, _) in files.items():
        try:
            found = os.stat(folder / name).st_size
        except OSError as error:
            raise InputError("the file is missing", file=folder / name, fix=fix) from error
        if found != size:
            problem = f"the file is damaged: it has {found:,} bytes, not {size:,}"
            raise InputError(problem, file=folder / name, fix=fix)
    return content


def checked(folder: Path, content: dict, name: str, fix: str) -> Path:
    """Return the path of a file of a sealed folder, after its bytes were compared with their SHA-256."""
    path = folder / name
    if records.sha256(path) != content["files"][name][1]:
        raise InputError("the file is damaged: it differs from its checksum", file=path, fix=fix)
    return path


def check_own(folder: Path, content: dict) -> None:
    """Raise `InputError` if a sealed folder holds a file that its seal does not name."""
    own = {*content["files"], ABOUT, temporary.LOCK}
    files = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    for path in files:
        if path.relative_to(folder).as_posix() not in own:
            raise InputError(
                f"'{path}' is not of airrvec, and its folder cannot be removed", fix="Move it away"
            )


def digest(content: dict) -> str:
    """Return the SHA-256 of JSON, whatever the order of its keys."""
    return hashlib.sha256(tables.json_text(content, sort_keys=True).encode()).hexdigest()
