"""What the functions of Python for the verbs share: input from anywhere, options checked, tables returned."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airrvec.app import frames, memory, verb_options
from airrvec.app.verb_options import LABELLED_VERBS
from airrvec.app.verbs.performance import performed
from airrvec.app.verbs.work import Work
from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.progress import reported
from airrvec.core.runtime import restored_threads
from airrvec.core.terminal import print_warning

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Done:
    """
    A verb that is done.

    Attributes
    ----------
    work : Work
        Its folders, which are removed after the block.
    labels : DataFrame or None
        Index and ``cell_id`` of the rows of tables in memory; None for files.
    """

    work: Work
    labels: pd.DataFrame | None

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of the results as a DataFrame."""
        return frames.from_table(tables.read(self.work.results / f"{name}.parquet"))

    def table_or_none(self, name: str) -> pd.DataFrame | None:
        """Return a table of the results, or None if there is none."""
        return self.table(name) if (self.work.results / f"{name}.parquet").exists() else None

    def annotated(self) -> pd.DataFrame:
        """Return the calls of all samples: of files a row per cell, of tables in memory their rows."""
        calls = pd.concat([self.table(sample.name) for sample in self.work.samples], ignore_index=True)
        if self.labels is None:
            return frames.savable(calls)
        numbers = calls.pop("cell_id").astype("int64")
        rows = pd.DataFrame({"row": np.arange(len(self.labels))})
        calls = rows.merge(calls.assign(row=numbers), on="row", how="left")
        if "cell_id" in self.labels:
            calls["cell_id"] = self.labels["cell_id"].to_numpy()[calls["row"]]
        return frames.savable(calls.set_axis(self.labels.index[calls.pop("row")], axis=0))

    def cell_ids(self, members: pd.DataFrame) -> pd.DataFrame:
        """Return the members of clones with the name of each cell: ``cell_id``, or the label of its row."""
        parts = []
        for sample, part in members.groupby("sample_id", sort=False):
            path = self.work.folder / f"{sample}.cells.parquet"
            names = tables.read(path, ["cell_id"])["cell_id"].to_pandas().to_numpy()[part["cell_row"] - 1]
            if self.labels is not None:
                rows = names.astype(np.int64)
                known = self.labels.get("cell_id", self.labels.index)
                names = known.to_numpy()[rows]
            parts.append(part.assign(cell_id=names))
        return frames.savable(pd.concat(parts) if parts else members.assign(cell_id=None))


@contextmanager
def done(verb: Callable[[Work], None], data: object, **arguments: Any) -> Iterator[Done]:
    """
    Do the work of a verb on files or tables in memory.

    Parameters
    ----------
    verb : callable
        Of `airrvec.app.verbs`.
    data : path, list of paths, table, AnnData, MuData, dict of tables or None
    **arguments
        Options of the verb; ``outdir`` is None for a temporary folder.
    """
    options = verb_options.checked(verb.__name__, {"outdir": None, **arguments})
    options.outdir = Path(options.outdir) if options.outdir else None
    with (
        restored_threads(),
        tempfile.TemporaryDirectory(prefix="airrvec-") as folder,
        reported(f"airrvec.{verb.__name__}"),
    ):
        labels = _place(data, options, Path(folder))
        with performed(verb, options) as work:
            yield Done(work, labels)
    print_warning(*work.said)


def _place(data: object, options: Any, folder: Path) -> pd.DataFrame | None:
    """Name the files of the input in the options, written if it is in memory; return the rows' labels."""
    if isinstance(options.column_map, Mapping):
        options.column_map = _written_map(options.column_map, folder)
    options.column_map = options.column_map and Path(options.column_map)
    if memory.are_paths(data) or (data is None and options.verb == "pretrain"):
        options.tables = memory.paths_of(data)
        return None
    if options.format or options.column_map:
        raise InputError("format and column_map are of files, and the input is in memory")
    parts = memory.parts_of(data)
    if options.verb not in LABELLED_VERBS:
        options.tables = [memory.write_sheet(parts, folder)]
    elif len(parts) > 1:
        raise InputError(f"{len(parts)} tables are given, but this verb takes one", fix="Join the tables")
    else:
        options.tables = [memory.write(parts[0], np.arange(len(parts[0].frame)), 0, folder / "labelled")]
    return memory.labels_of(parts)


def _written_map(column_map: Mapping[str, Any], folder: Path) -> Path:
    path = folder / "column_map.json"
    tables.write_json(dict(column_map), path)
    return path


@contextmanager
def reference_paths(reference: Any) -> Iterator[list[Path]]:
    """Yield the files and folders of a reference, written to a temporary folder if it is in memory."""
    if memory.are_paths(reference):
        yield memory.paths_of(reference)
        return
    with tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
        if hasattr(reference, "merged"):  # `airrvec.app.results.Reference`
            path = Path(folder, "merged.parquet")
            reference.merged.to_parquet(path, index=False)
            yield [path]
            return
        parts = memory.parts_of(reference, "reference")
        yield [
            memory.write(part, np.arange(len(part.frame)), 0, Path(folder, part.name or f"reference_{n}"))
            for n, part in enumerate(parts)
        ]
