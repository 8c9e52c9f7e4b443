"""Upkeep of an index of runs: its list, what is damaged, what killed processes have left."""

from collections.abc import Iterator

from airrvec.app import sealed_folders, temporary
from airrvec.app.run_index import CLASSES, Run, RunIndex, run_folders
from airrvec.core.plural import counted
from airrvec.search.store import spans

import numpy as np


def check(index: RunIndex) -> None:
    """
    Read the whole index and compare it with its checksums.

    Raises
    ------
    InputError
        That names the first damaged file.
    """
    for name in CLASSES:
        for part in ("centres", "background") if (index.folder / "classes" / name).is_dir() else ():
            index.class_array(name, part)
    for run in index.runs():
        for name, (_, checksum) in run.about["files"].items():
            if checksum:
                sealed_folders.checked(run.folder, run.about, name, run.fix)
        for name in run.about["rows"]:
            segment = run.segment(name, index.about["n_dimensions"])
            for span in spans(segment.starts, np.ones(len(segment.starts) - 1, bool)):
                segment.read(*span)


def described(runs: list[Run]) -> Iterator[str]:
    """Yield a line for each run."""
    for run in runs:
        n, samples = counted(run.about["receptors"], "receptor"), counted(len(run.about["samples"]), "sample")
        yield f"{run.folder.name}  {n} of {samples}  {run.about['results']}"


def clean(index: RunIndex) -> list[str]:
    """Remove what killed processes have left in an index; return a line on each file that is not of it."""
    known = {*run_folders(index.folder), *(index.folder / "classes" / name for name in CLASSES)}
    lines = []
    for kind in ("runs", "classes"):
        folder = index.folder / kind
        if folder.is_symlink():
            continue
        unknown = temporary.remove_abandoned(folder)
        lines += [f"{path} stays: a killed process may have left it, or still write it" for path in unknown]
        others = (path for path in sorted(folder.glob("*")) if path not in known)
        lines += [f"{path} stays: it is not of airrvec" for path in others if not temporary.is_named(path)]
    return lines
