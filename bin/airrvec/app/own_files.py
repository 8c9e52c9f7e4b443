"""
The list of the files that the command has written into a folder, which are those that it may replace.

Text, JSON and figures have no room for a mark of their own, and a mark would not show that somebody has
changed a file since. The list, ``.airrvec/files.json`` in the folder, has size and SHA-256 of each file, and
a seal. While files are replaced it holds both states: after a kill at any moment it names each file.
"""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from airrvec.app import sealed_folders, temporary
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
    lock = temporary.locked_file(folder / LOCK)
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
        if content["format"] == FORMAT and checksum == sealed_folders.digest(content):
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
    sealed = {**content, "sha256": sealed_folders.digest(content)}
    tables.write_json(sealed, folder / LIST, indent=1)


def state(path: Path) -> list:
    """Return size and SHA-256 of a file."""
    return [path.stat().st_size, records.sha256(path)]


def is_own(path: Path, states: States | None) -> bool:
    """Return whether a regular file is in one of these states."""
    if states is None or not stat.S_ISREG(path.lstat().st_mode):
        return False
    if states == CHANGING:
        return True
    sizes = {size for size, _ in states}
    return path.stat().st_size in sizes and state(path) in states
