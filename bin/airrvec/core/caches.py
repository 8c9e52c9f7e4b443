"""Folders for the caches of numba and matplotlib; must be chosen before these are imported."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

LIBRARY = Path(__file__).parents[1]
COMPILED = ("annotation", "encoders", "model", "model/cpu", "repertoire", "search")  # have functions of numba


def set_folders() -> None:
    """
    Give numba and matplotlib a folder where theirs cannot be written.

    Numba stops without a cache, and matplotlib warns at each start. The folder is `.cache` in the folder of
    the task or, outside of the pipeline, a temporary one that is deleted at the end.
    """
    wanted = []
    compiled = [LIBRARY / package / "__pycache__" for package in COMPILED]
    if not (_own("NUMBA_CACHE_DIR") or all(map(_writable, compiled)) or _writable(_home("CACHE", "numba"))):
        wanted.append("NUMBA_CACHE_DIR")
    drawn = [_home("CACHE", "matplotlib"), _home("CONFIG", "matplotlib")]
    if not (_own("MPLCONFIGDIR") or all(map(_writable, drawn))):
        wanted.append("MPLCONFIGDIR")
    if not wanted:
        return
    if Path(".command.sh").exists() and _writable(Path.cwd()):  # Nextflow's script of a task
        folder = Path.cwd() / ".cache"
    else:
        folder = Path(tempfile.mkdtemp(prefix="airrvec-caches-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in wanted:
        os.environ[name] = str(folder / ("numba" if name == "NUMBA_CACHE_DIR" else "matplotlib"))


def _own(name: str) -> bool:
    """Return whether the user, or the image, has set a folder that can be written."""
    return bool(os.environ.get(name)) and _writable(Path(os.environ[name]))


def _home(kind: str, name: str) -> Path:
    """Return the folder in the user's home; `/dev/null/...`, which nobody can write, without a home."""
    base = os.environ.get(f"XDG_{kind}_HOME") or os.path.expanduser(f"~/.{kind.lower()}")
    return Path("/dev/null" if base.startswith("~") else base) / name


def _writable(folder: Path) -> bool:
    """Return whether a folder can be written, or made and then written."""
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return False
    return True
