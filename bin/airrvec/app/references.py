"""References of the command ``airrvec``: one labelled table, or several that are merged into one."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input.samplesheet.names import unique_names

MERGED = ("merged", "conflicts", "sources")


def listed_paths(text: str) -> list[Path]:
    """
    Return the paths of ``--reference``: a file, a folder that the verb reference wrote, or several by commas.

    Raises
    ------
    InputError
        If a path is given twice.
    """
    paths = [path / "merged.parquet" if os.path.isdir(path) else path for path in named_paths(text)]
    if len(set(paths)) < len(paths):
        raise InputError(f"--reference: '{text}' names one of them twice")
    return paths


def named_paths(text: str) -> list[Path]:
    """Return the files and folders of ``--reference``, as they are named."""
    return [Path(text)] if os.path.exists(text) else [Path(part.strip()) for part in text.split(",")]


def normalise_and_merge(
    run: Callable, paths: Sequence[Path], species: str, folder: Path
) -> tuple[Path, Path]:
    """Normalise and merge labelled tables in a folder; return the paths of their cells and receptors."""
    names = unique_names(list(paths))
    for path, name in zip(paths, names, strict=True):
        run(
            "normalise_receptors",
            *(path, "--sample", name, "--part", "reference", "--species", species, "--outdir", folder),
        )
    return merge(run, names, folder)


def merge(run: Callable, names: Sequence[str], folder: Path) -> tuple[Path, Path]:
    """Merge the normalised tables of a folder; return the paths of the cells and receptors of the result."""
    run("merge_references", "--sources", *names, "--tables", folder, "--outdir", folder / "merged")
    return tuple(folder / f"merged/reference.{kind}.parquet" for kind in ("cells", "receptors_0000"))


def publish(folder: Path, names: Sequence[str], outdir: Path) -> None:
    """Move the tables of `merge`, and the rejects of each source, to the folder of the results."""
    (outdir / "rejects").mkdir(parents=True, exist_ok=True)
    for name in MERGED:
        for path in (folder / "merged").glob(f"{name}.*"):  # a large table has no text
            shutil.move(path, outdir / path.name)
    for name in names:
        shutil.move(folder / f"{name}.rejects.parquet", outdir / f"rejects/{name}.parquet")
