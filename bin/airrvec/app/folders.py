"""Temporary folders, and folders that become visible when they are complete."""

import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airrvec.core import records, tables
from airrvec.core.errors import InputError

LOCK = "airrvec.lock"
_NAME = re.compile(r"\.(.+)\.\d+-[0-9a-f]{8}\.tmp")


@contextmanager
def new(target: Path) -> Iterator[Path]:
    """
    Yield a new folder ``.<name>.<process>-<digits>.tmp`` beside ``target``; remove it at the end.

    It holds a file, `LOCK`. Whoever renames the folder, so that it stays, removes this file then.
    """
    folder, lock = _made(target)
    try:
        yield folder
    finally:
        with suppress(OSError):  # what is left is removed later
            remove(folder)
        os.close(lock)


def _made(target: Path) -> tuple[Path, int]:
    """Make a folder and lock it; return it and the descriptor of its lock."""
    while True:
        folder = _name_beside(target)
        folder.mkdir()
        with suppress(FileNotFoundError):  # `remove_abandoned` took it for one of a dead process
            return folder, locked_file(folder / LOCK)


def locked_file(path: Path) -> int:
    """
    Return the descriptor of a file that this process has locked, made if it is not there; close it to unlock.

    Raises
    ------
    FileNotFoundError
        If the file was deleted meanwhile.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o666)
    try:
        with suppress(OSError):  # no locks on this file system: then nothing there is taken for abandoned
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not os.path.samestat(os.fstat(descriptor), os.stat(path)):
            raise FileNotFoundError(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def remove_abandoned(folder: Path, name: str | None = None) -> list[Path]:
    """
    Remove the temporary folders in a folder whose processes have ended.

    Parameters
    ----------
    folder : Path
        Need not exist.
    name : str, optional
        Look at temporary folders of a target of this name only.

    Returns
    -------
    list of Path
        Those of which nothing shows whether airrvec made them and whether a process still writes them. They
        are left as they are.
    """
    unknown = []
    for path in sorted(folder.glob(".*.tmp")):
        match = _NAME.fullmatch(path.name)
        if match and name in (None, match[1]) and path.is_dir() and not path.is_symlink():
            unknown += [] if _removed_or_locked(path) else [path]
    return unknown


def is_named(path: Path) -> bool:
    """Return whether a path has a name as those of temporary folders."""
    return bool(_NAME.fullmatch(path.name))


def _removed_or_locked(folder: Path) -> bool:
    """Remove a folder whose process has ended; return whether that is known, or that it has not."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        return _removed_if_empty(folder)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(folder)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _removed_if_empty(folder: Path) -> bool:
    """Remove an empty folder, of a process that was killed before or after everything else."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove(folder: Path) -> None:
    """Remove a temporary folder, its lock last; one that is gone is no error."""
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()


def discard(folder: Path) -> None:
    """Remove a folder: first its name, then its files; of a link the link. Another process may be faster."""
    if folder.is_symlink():
        folder.unlink(missing_ok=True)
        return
    hidden = _name_beside(folder)
    with suppress(FileNotFoundError):
        folder.rename(hidden)
        lock = locked_file(hidden / LOCK)
        try:
            remove(hidden)
        finally:
            os.close(lock)


def _name_beside(target: Path) -> Path:
    return target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp")


# --- Folders that appear complete or not at all, whose files are compared with sizes and checksums when used

ABOUT = "about.json"
OWN_CHECKSUMS = "records.bin"  # each of its cells has one (`airrvec.search.store`)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder; rename it to ``target`` at the end, unless another process was faster."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with new(target) as folder:
        yield folder
        try:
            folder.rename(target)
        except OSError:
            if not (target / ABOUT).is_file():
                raise
        else:
            (target / LOCK).unlink()


def seal(folder: Path, content: dict) -> None:
    """Write what a folder is, with the size and SHA-256 of each of its files, and a checksum of all this."""
    files = {}
    for path in sorted(part for part in folder.rglob("*") if part.is_file() and part.name != LOCK):
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
            actual_size = os.stat(folder / name).st_size
        except OSError as error:
            raise InputError("the file is missing", file=folder / name, fix=fix) from error
        if actual_size != size:
            problem = f"the file is damaged: it has {actual_size:,} bytes, not {size:,}"
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
    own = {*content["files"], ABOUT, LOCK}
    files = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    for path in files:
        if path.relative_to(folder).as_posix() not in own:
            raise InputError(
                f"'{path}' is not of airrvec, and its folder cannot be removed", fix="Move it away"
            )


def digest(content: dict) -> str:
    """Return the SHA-256 of JSON, whatever the order of its keys."""
    return hashlib.sha256(tables.json_text(content, sort_keys=True).encode()).hexdigest()
