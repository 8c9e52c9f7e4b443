"""
Foreign files and links around what airrvec writes, and whether they are still what they were.

::

    before = plant(outdir)            # files, folders and links with ordinary and with awkward names
    before |= seen(samplesheet, cache)  # what is there already
    ...                               # run airrvec
    assert changes(before) == []

A file may change in its content, permissions, time of change, or identity (a copy in its place is another
file); a link in where it leads; a folder of which `plant` or `seen` knows all members, in these.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

State = dict[Path, tuple]

LONG_AGO = 1_000_000_000  # seconds since 1970: whoever deletes what is old deletes these

# Ordinary names of a project's files and folders, and names like those that airrvec gives or deletes.
FILES = (
    "notes.txt",
    "my table.csv",
    "=odd name & more.tsv",
    ".hidden",
    ".editor.tmp",
    ".last.notes.tmp",
    ".notes.4242-abcdef01.tmp",
    "backup.tar.zst",
    "backup.damaged",
    "summary.txt",
    "about.json.bak",
    "r/analysis.R",
    "models/mine/config.json",
    "models/mine/model.safetensors",
    "samples/tubes.tsv",
    "samples/freezer/box 1.csv",
    "map/places.png",
    "cells/counts.parquet",
    "checkpoints/last.ckpt",
    "runs/notes.txt",
    "previous/old.tsv",
    "pipeline_info/mine.txt",
)


def plant(folder: Path, names: Iterable[str] = FILES) -> State:
    """
    Write foreign files, folders and links into a folder; return their state for `changes`.

    Beside the folder, ``<name>.elsewhere`` holds what the links lead to: nothing may be added there either.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    names : iterable of str
        Files to write, relative to the folder.
    """
    elsewhere = folder.with_name(f"{folder.name}.elsewhere")
    (elsewhere / "shared").mkdir(parents=True)
    outside = [elsewhere / name for name in ("one.txt", "two.txt", "three.txt", "shared/table.tsv")]
    inside = [folder / name for name in names]
    for path in (*outside, *inside):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"of the user: {path.name}\n")
        os.utime(path, (LONG_AGO, LONG_AGO))
    links = [
        link_file(folder / "link to a file", outside[0]),
        link_file(folder / "relative link", Path("..") / elsewhere.name / "two.txt"),
        link_file(folder / "link to a folder", elsewhere / "shared"),
        link_file(folder / "link to nothing", elsewhere / "nothing"),
    ]
    hard = folder / "hard link"
    os.link(outside[2], hard)
    return seen(elsewhere) | _states([*inside, *links, hard])


def link_file(link: Path, target: Path) -> Path:
    """Make a symbolic link with the folders above it; return it."""
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


def seen(*paths: Path) -> State:
    """Return the state of files, links and folders, of folders with all that is below and the list of it."""
    state: State = {}
    for path in map(_absolute, paths):
        state |= _states([path])
        if _is_folder(path):
            members = sorted(path.rglob("*"))
            state |= _states(members)
            state |= {part: _listed(part) for part in (path, *members) if _is_folder(part)}
    return state


def changes(before: Mapping[Path, tuple]) -> list[str]:
    """Return a line for each file, link and folder that is no longer as it was."""
    lines = []
    for path, state in before.items():
        if not os.path.lexists(path):
            lines.append(f"{path}: gone")
            continue
        now = _listed(path) if state[0] == "list" and _is_folder(path) else _state(path)
        if now != state:
            lines.append(f"{path}: {_difference(state, now)}")
    return lines


def _states(paths: Iterable[Path]) -> State:
    return {path: _state(path) for path in map(_absolute, paths)}


def _state(path: Path) -> tuple:
    """Return kind, permissions, identity, time and content of a file, or where a link leads."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return ("link", os.readlink(path))
    if not stat.S_ISREG(found.st_mode):
        return ("folder" if stat.S_ISDIR(found.st_mode) else "other", stat.S_IMODE(found.st_mode))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return ("file", stat.S_IMODE(found.st_mode), (found.st_dev, found.st_ino), found.st_mtime_ns, digest)


def _listed(folder: Path) -> tuple:
    return ("list", stat.S_IMODE(folder.lstat().st_mode), *sorted(os.listdir(folder)))


def _difference(before: tuple, now: tuple) -> str:
    if before[0] != now[0]:
        return f"was a {before[0]}, is a {now[0]}"
    if before[0] == "list" and before[1] == now[1]:
        return f"added {sorted({*now} - {*before})}, gone {sorted({*before} - {*now})}"
    parts = {"file": ("permissions", "identity", "time of change", "content"), "link": ("target",)}
    names = parts.get(before[0], ("permissions",))
    return ", ".join(name for name, a, b in zip(names, before[1:], now[1:], strict=False) if a != b)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # links stay links
