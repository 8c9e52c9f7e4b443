"""
Normalised and merged references, vectors of backgrounds, and calibrations, kept in a folder that runs share.

The results of a script are a file, named by the digest of all that they depend on: the reference, the model,
the background, the settings, the code, the packages and the kind of processor, on which last digits depend.
It holds the results byte by byte, in a packed tar archive that ends with its SHA-256. Whatever is wrong with
the folder, the results are made instead.

The folder may hold files of others. airrvec replaces and deletes there only files that are named by a digest
and have its seal, and only if the folder has its marker, `MARKER`. Nothing is renamed.
"""

import argparse
import hashlib
import os
import platform
import re
import stat
import sys
import tarfile
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from airrvec.core import records, schema, settings, tables
from airrvec.core.chains import CHAIN_CLASSES
from airrvec.core.terminal import print_warning

import pyarrow as pa

N_KEPT = 30  # files in a folder, about three a reference; those that were not used for longest are deleted
ABANDONED = 3600  # seconds after which a temporary file that nobody writes to is one of a killed process
PACKAGES = ("llvmlite", "numba", "numpy", "olga", "pandas", "pyarrow", "scikit-learn", "scipy", "tidytcells")
NONE = "none"
CALIBRATION, NORMALISED, MERGED = "calibration", "normalised reference", "merged reference"
BACKGROUND = "vectors of the background"
MARKER = "airrvec_calibrations.txt"

_MARK = "airrvec calibrations\n"  # how the marker begins
_MARK_TEXT = f"""{_MARK}
airrvec keeps references and their calibrations here: files named by 64 hexadecimal digits. It deletes those
that were not used for the longest time, and nothing else. All of them may be deleted at any time.
"""
_NAME = re.compile(r"[0-9a-f]{64}\.tar\.zst")
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.tar\.zst\.\d+-[0-9a-f]{8}\.tmp")

_LIBRARY = Path(__file__).parents[1]
_TABLES = (
    *("calibration", "precision_recall", "epitopes", "receptors"),
    *("suspect_labels", "same_studies", "merged", "conflicts", "sources"),
)
_RESULTS = {
    "calibration.qc.json",
    "warnings.json",
    "reference/not_calibrated.json",
    *(f"{name}.{kind}" for name in _TABLES for kind in ("parquet", "tsv")),
    *(f"reference/{species}_{chains}.npz" for species in schema.SPECIES for chains in CHAIN_CLASSES),
    *(f"background/{chains}.arrow" for chains in CHAIN_CLASSES),
}
_NORMALISED = re.compile(r"[^/]+\.((cells|chains|receptors_0000|rejects)\.parquet|qc\.json)")


def folder(name: str) -> Path | None:
    """Return the folder of a parameter; None for ``none`` and an empty word."""
    return None if name in ("", NONE) else Path(name)


def shared_folder() -> str:
    """
    Return the folder that the pipeline names in the environment, or ``none``.

    The name is percent-encoded: Nextflow writes it into the shell scripts of tasks, unescaped.
    """
    return unquote(os.environ.get("AIRRVEC_CALIBRATIONS", NONE))


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the folder to the options of a script: by default that of the pipeline, which verbs do without."""
    settings.add(parser, "calibrations", type=folder, default=shared_folder())


def user_folder() -> str:
    """Return `shared_folder` if the environment names one, else that of the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    own = NONE if cache.startswith("~") else str(Path(cache, "airrvec", "calibrations"))
    return shared_folder() if "AIRRVEC_CALIBRATIONS" in os.environ else own


def digest(script: Path, model: Path | None, inputs: dict[str, Path | None], options: dict) -> str:
    """
    Return the digest of everything that the results of a script depend on, 64 hexadecimal digits.

    Parameters
    ----------
    script : Path
        The script that makes them.
    model : Path or None
        Folder of the model, if they depend on one.
    inputs : dict of str to Path or None
        Tables by their names: files, or folders of partitions.
    options : dict
        Options of the script that change its results; JSON.
    """
    from llvmlite import binding  # 0.05 s

    code = sorted(path for path in _LIBRARY.rglob("*") if path.suffix in (".py", ".tsv"))
    depends_on = {
        "code": [records.sha256(script), _names_and_contents(code, _LIBRARY)],
        "python": sys.version,
        "packages": {name: _version(name) for name in PACKAGES},
        "processor": [
            platform.machine(),
            binding.get_host_cpu_name(),
            binding.get_host_cpu_features().flatten(),
        ],
        "model": model and _names_and_contents([*filter(Path.is_file, sorted(model.rglob("*")))], model),
        "inputs": {
            name: path and [records.sha256(part) for part in tables.files(path)]
            for name, path in inputs.items()
        },
        "settings": options,
    }
    return hashlib.sha256(tables.json_text(depends_on, sort_keys=True).encode()).hexdigest()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:  # where no script needs it
        return None


def _names_and_contents(paths: list[Path], root: Path) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): records.sha256(path) for path in paths}


def take(folder: Path, key: str, outdir: Path, kind: str = CALIBRATION) -> bool:
    """
    Write kept results; return whether there are any.

    Parameters
    ----------
    folder, key, kind
        As for `read`.
    outdir : Path
        Folder of the results.
    """
    results = read(folder, key, kind)
    for name, content in (results or {}).items():
        with tables.atomic_path(outdir / name) as temporary:
            temporary.write_bytes(content)
    return results is not None


def read(folder: Path, key: str, kind: str) -> dict[str, bytes] | None:
    """
    Return kept results by their names; None if there are none.

    A damaged one counts as none, and `keep` and `write` replace it.

    Parameters
    ----------
    folder : Path
        The folder that runs share; need not exist.
    key : str
        From `digest`.
    kind : str
        What they are, for the terminal.
    """
    path = _path(folder, key)
    try:
        results = _read(path)
    except FileNotFoundError:
        return None
    except records.DamagedError as problem:
        _say(kind, f"{path} is damaged ({problem}); it is made again")
        return None
    except OSError as problem:
        _say(kind, f"{path} cannot be read ({problem.strerror or problem}); it is made again")
        return None
    with suppress(OSError):  # read-only
        os.utime(path)  # used last now
    _say(kind, f"taken from {path}")
    return results


def _read(path: Path) -> dict[str, bytes]:
    """Return the results in a file, by their names."""
    if not _is_file(path):
        raise records.DamagedError("it is no file")
    size = records.check(path)
    with path.open("rb") as file:
        packed = file.read(size)
    try:
        with tarfile.open(
            fileobj=pa.input_stream(pa.py_buffer(packed), compression="zstd"), mode="r|"
        ) as archive:
            files = ((entry.name, archive.extractfile(entry)) for entry in archive if entry.isfile())
            results = {name: file.read() for name, file in files if file}
    except (tarfile.TarError, EOFError, OSError, ValueError) as problem:
        raise records.DamagedError("it is no archive") from problem
    if strange := [name for name in results if not _is_result(name)]:
        raise records.DamagedError(f"it holds {min(strange)}")
    return results


def _is_result(name: str) -> bool:
    return name in _RESULTS or bool(_NORMALISED.fullmatch(name))


def keep(folder: Path, key: str, outdir: Path, kind: str = CALIBRATION) -> None:
    """Keep the results that the script has written to ``outdir``; if that fails, only say so."""
    root = outdir.resolve()
    written = {os.path.relpath(path.resolve(), root): path for path in records.noted()}
    names = filter(_is_result, sorted(written))
    write(folder, key, ((name, written[name].read_bytes()) for name in names), kind)


def write(folder: Path, key: str, results: Iterable[tuple[str, bytes]], kind: str) -> None:
    """Keep results, given by their names in order; if that fails, only say so."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _mark(folder)
        path = _path(folder, key)
        if os.path.lexists(path) and not _is_own(path):
            raise FileExistsError(None, f"{path.name} is not of airrvec: move it away")
        _write_sealed(path, results)
        _delete_oldest(folder)
    except OSError as problem:
        _say(kind, f"not kept in {folder} ({problem.strerror or problem}); other runs make it again")


def take_or_make(
    folder: Path | None,
    key: Callable[[], str],
    outdir: Path,
    make: Callable[[], Any],
    kind: str = CALIBRATION,
) -> Any:
    """
    Write kept results, or make and keep them; return what ``make`` returns, None if they were taken.

    Parameters
    ----------
    folder : Path or None
        The folder that runs share; None: they are made, and not kept.
    key : callable
        The digest, from `digest`.
    outdir, kind
        As for `take`.
    make : callable
        Writes the results to ``outdir``.
    """
    if folder is None:
        return make()
    digest_of_results = key()
    if take(folder, digest_of_results, outdir, kind):
        return None
    made = make()
    keep(folder, digest_of_results, outdir, kind)
    return made


def _mark(folder: Path) -> None:
    """
    Write the marker of a folder if it has none.

    Raises
    ------
    FileExistsError
        If something else has its name.
    """
    path = folder / MARKER
    try:
        with path.open("x") as file:
            file.write(_MARK_TEXT)
    except FileExistsError:
        # An empty one: another process is writing it, or was killed then.
        if not _is_file(path) or path.read_bytes()[: len(_MARK)] not in (b"", _MARK.encode()):
            raise FileExistsError(None, f"{MARKER} is not of airrvec: move it away") from None


def _is_file(path: Path) -> bool:
    """Return whether a path, which exists, is a regular file: no link, folder, pipe or device."""
    return stat.S_ISREG(path.lstat().st_mode)


def _is_own(path: Path) -> bool:
    return bool(_NAME.fullmatch(path.name)) and _is_file(path) and records.is_sealed(path)


def _write_sealed(path: Path, results: Iterable[tuple[str, bytes]]) -> None:
    with tables.atomic_path(path, is_result=False) as temporary:
        with (
            pa.output_stream(temporary, compression="zstd") as stream,
            tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
        ):
            for name, content in results:
                entry = tarfile.TarInfo(name)  # without time and owner: equal results are equal files
                entry.size = len(content)
                archive.addfile(entry, BytesIO(content))
        records.seal(temporary)


def _delete_oldest(folder: Path) -> None:
    """Delete files beyond `N_KEPT`, and what killed processes have left, in a folder with a marker."""
    used = {}
    for path in folder.iterdir():
        with suppress(OSError):  # another run was faster, or the file is somebody else's
            if _is_own(path):
                used[path] = path.stat().st_mtime
            elif _is_abandoned(path):
                path.unlink()
    for path in sorted(used, key=used.__getitem__)[:-N_KEPT]:
        path.unlink(missing_ok=True)


def _is_abandoned(path: Path) -> bool:
    is_temporary = _TEMPORARY.fullmatch(path.name) and _is_file(path)
    return bool(is_temporary) and time.time() - path.stat().st_mtime > ABANDONED


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.tar.zst"


def _say(kind: str, text: str) -> None:
    print_warning(f"{kind}: {text}")
