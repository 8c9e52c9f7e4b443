"""
The list of the files that the command has written into a folder, which are those that it may replace.

Text, JSON and figures have no room for a mark of their own, and a mark would not show that somebody has
changed a file since. The list, ``.airrvec/files.json`` in the folder, has size and SHA-256 of each file, and
a seal. While files are replaced it holds both states: after a kill at any moment it names each file.
"""

import json
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

from airrvec.app import folders
from airrvec.core import records, tables
from airrvec.core.errors import InputError

PLACE = ".airrvec"
LIST, LOCK = f"{PLACE}/files.json", f"{PLACE}/lock"
FORMAT = 1
CHANGING = "changing"  # files that airrvec changes while it works: checkpoints of training

# Size and SHA-256 of each state in which a file is airrvec's; or `CHANGING`.
States = list[list] | str


@contextmanager
def listed(folder: Path) -> Iterator[dict[str, States]]:
    """
    Yield the states of the files of a folder, by their names relative to it, for as long as nobody writes.

    Other processes that write to the folder wait until the block ends.
    """
    _check_place(folder)
    (folder / PLACE).mkdir(exist_ok=True)
    lock = folders.locked_file(folder / LOCK)
    try:
        yield read(folder)
    finally:
        os.close(lock)


def _check_place(folder: Path) -> None:
    place = folder / PLACE
    if os.path.lexists(place) and (place.is_symlink() or not place.is_dir()):
        raise InputError(
            f"'{place}' is no folder: it holds the list of the files that airrvec wrote", fix="Move it away"
        )


def read(folder: Path) -> dict[str, States]:
    """
    Return the states of the files of a folder; none if it has no list.

    Raises
    ------
    InputError
        If the list is damaged, or a file of somebody else has its name.
    """
    _check_place(folder)
    path = folder / LIST
    try:
        content = json.loads(path.read_bytes())
        checksum = content.pop("sha256")
        if content["format"] == FORMAT and checksum == folders.digest(content):
            return content["files"]
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise InputError(
        f"'{path}' is damaged, or not of airrvec: it lists the files that airrvec wrote there",
        fix="Move it away; the files that it names then count as yours",
    )


def write(folder: Path, files: dict[str, States]) -> None:
    """Write the list of a folder, which `listed` has locked."""
    content = {"format": FORMAT, "files": dict(sorted(files.items()))}
    sealed = {**content, "sha256": folders.digest(content)}
    tables.write_json(sealed, folder / LIST, indent=1)


def state(path: Path) -> list:
    """Return size and SHA-256 of a file."""
    return [path.stat().st_size, records.sha256(path)]


def is_own(path: Path, states: States | None) -> bool:
    """Return whether a regular file is in one of these states."""
    if states is None or not stat.S_ISREG(path.lstat().st_mode):
        return False
    if isinstance(states, str):
        return states == CHANGING
    sizes = {size for size, _ in states}
    return path.stat().st_size in sizes and state(path) in states


# --- The inputs of a command, recognised by any name


class Inputs:
    """Files that are never written: those given, and those in folders that are given."""

    def __init__(self, paths: Iterable[Path]):
        self._paths = tuple(paths)

    def match(self, path: Path) -> Path | None:
        """
        Return the input that a path is: by another name, link or spelling too.

        Names that differ only in case, or in the composition of their accents, are one file on some disks.
        """
        with suppress(OSError):
            status = os.stat(path)
            if source := self._files.get((status.st_dev, status.st_ino)):
                return source
        spelling = _spelling(path)
        return self._spellings.get(spelling) if spelling else None

    @cached_property
    def _files(self) -> dict[tuple[int, int], Path]:
        files = {}
        for path in map(Path, self._every_path()):
            with suppress(OSError):
                status = os.stat(path)
                if not stat.S_ISDIR(status.st_mode):
                    files.setdefault((status.st_dev, status.st_ino), path)
        return files

    @cached_property
    def _spellings(self) -> dict[tuple, Path]:
        spelt = {_spelling(path): path for path in self._paths if not os.path.isdir(path)}
        return {key: path for key, path in spelt.items() if key}

    def _every_path(self) -> Iterator[str]:
        for path in self._paths:
            yield str(path)
            for folder, _, names in os.walk(path):
                yield from (os.path.join(folder, name) for name in names)


def _spelling(path: Path) -> tuple | None:
    """Return the folder of a path and its name, in one spelling; None without the folder."""
    try:
        folder = os.stat(path.parent)
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, folded(path.name)


def folded(name: str) -> str:
    """Return a name in one spelling: of its case and of its accents."""
    return unicodedata.normalize("NFC", name).casefold()
