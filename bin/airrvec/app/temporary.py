"""
Temporary folders beside results, locked by the process that writes them.

The lock ends with its process, however that ends. A killed process leaves its folder; whoever writes to the
same place next removes it. What is only named like such a folder is left alone.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
