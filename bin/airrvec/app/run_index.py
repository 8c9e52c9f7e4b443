"""
An index of runs: a folder in which receptors of all of them are found.

::

    about.json                the model whose vectors it holds
    model/                    its weights, unless it is a published variant
    classes/homosapiens.beta/ centres of cells, and background receptors, of a species and chain class
    runs/4f1c…/               a run, named by the digest of its manifest
        about.json            where it came from, its samples, sizes and checksums of all files
        content.json          a digest of the receptors of each sample
        receptors/0000.parquet, cells/0000.parquet …   what is known of `PART` receptors
        homosapiens.beta/     their vectors, by cell (`airrvec.search.store`)

Each folder is complete when it gets its name, and none is changed later: runs can be added at the same time,
and a run is removed with its folder. Whatever else lies there is not read and not removed.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from airrvec.app import folders, manifest
from airrvec.core import chains as chain_words
from airrvec.core import records, schema, tables
from airrvec.core.errors import InputError
from airrvec.core.runtime import in_threads
from airrvec.core.terminal import counted
from airrvec.core.vectors import VectorModel
from airrvec.encoders.sceptr import Sceptr
from airrvec.model import weights
from airrvec.model.variants import VARIANTS
from airrvec.search.neighbours import cell_centres
from airrvec.search.store import Segment, Store, spans
from airrvec.synthetic import generation
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa

FORMAT = 1  # of the folder; another format is another number
N_CELLS, N_BACKGROUND = 4096, 100_000
SEED = 420
PART = 2**15  # receptors in a Parquet file: what is read for one that is found
LABELS = tuple(schema.INDEXED_CELLS.names[2:-1])
RUN_NAME = re.compile(r"[0-9a-f]{16}")
CLASSES = tuple(f"{species}.{chains}" for species in schema.SPECIES for chains in chain_words.CHAIN_CLASSES)


@dataclass(frozen=True)
class Run:
    """
    A run in an index.

    Attributes
    ----------
    folder : Path
        Its folder in the index.
    about : dict
        ``results`` (path of its results), ``manifest`` (digest), ``samples`` (metadata of each), ``rows``
        (vectors of each class), ``receptors`` (number).
    """

    folder: Path
    about: dict

    @property
    def fix(self) -> str:
        """What to do if the folder is damaged."""
        return fix_of_run(self.folder, self.about["results"])

    def segment(self, name: str, n_dimensions: int) -> Segment:
        """Return the vectors of a class."""
        folders.checked(self.folder, self.about, f"{name}/cells.npy", self.fix)
        return Segment(self.folder / name, n_dimensions, self.fix)


@dataclass
class RunIndex:
    """
    An index, open to search and to add runs.

    Attributes
    ----------
    folder : Path
    about : dict
        ``model``, ``weights_sha256``, ``n_dimensions``, ``n_cells`` and ``n_background``.
    threads : int
        Number of threads.
    """

    folder: Path
    about: dict
    threads: int = 1
    _runs: list[Run] | None = field(default=None, repr=False)

    @property
    def vector_model(self) -> VectorModel:
        """Model of the vectors."""
        return VectorModel(self.about["model"], self.about["weights_sha256"], self.about["n_dimensions"])

    @cached_property
    def encoder(self) -> Sceptr:
        """The model, to embed queries."""
        name = self.about["model"]
        encoder = Sceptr(name if name in VARIANTS else str(self.folder / "model"), threads=self.threads)
        if not self.vector_model.is_comparable(encoder.loaded.vector_model):
            raise InputError(
                f"the index was made with other weights of '{name}' than airrvec has now",
                file=self.folder / folders.ABOUT,
                fix="Make a new index of these runs, or use the version of airrvec that made it",
            )
        return encoder

    def runs(self) -> list[Run]:
        """Return the runs, by the path of their results, after a quick check of their folders."""
        if self._runs is None:
            runs = [Run(path, folders.unseal(path, fix_of_run(path))) for path in run_folders(self.folder)]
            self._runs = sorted(runs, key=lambda run: (run.about["results"], run.folder.name))
        return self._runs

    def reads(self, chains: str) -> bool:
        """Return whether the model reads all chains of a class."""
        letters = {name[-1] for name in self.encoder.loaded.config.loops}
        return all(locus[-1].lower() in letters for locus in chain_words.CHAIN_LOCI[chains])

    def store(self, name: str) -> tuple[Store, list[Run]]:
        """Return the vectors of a class, a segment a run, and these runs; none if no run has the class."""
        runs = [run for run in self.runs() if name in run.about["rows"]]
        if not runs:
            return Store([], [], np.empty((0, self.about["n_dimensions"]), np.float32)), []
        segments = [run.segment(name, self.about["n_dimensions"]) for run in runs]
        n_rows = [run.about["receptors"] for run in runs]
        return Store(segments, n_rows, self.class_array(name, "centres")), runs

    def class_array(self, name: str, part: str) -> np.ndarray:
        """Return the ``centres`` or the ``background`` of a class, which is made if it is not there."""
        folder = self.folder / "classes" / name
        fix = f"Remove {folder}: it is made again with the next run that is added"
        if not folder.is_dir():
            self._make_class(self.place("classes") / name)
        about = folders.unseal(folder, fix)
        return np.load(folders.checked(folder, about, f"{part}.npy", fix), allow_pickle=False)

    def _make_class(self, folder: Path) -> None:
        species, chains = folder.name.split(".")
        if species not in generation.SPECIES:
            raise InputError(f"OLGA has no model of {species}, which the index needs")
        n = self.about["n_background"]
        receptors = background_receptors(n, species, self.threads)
        vectors = self.encoder.embed(chain_words.on_chains(receptors, chains))
        n_cells = self.about["n_cells"]
        with folders.new_folder(folder) as unfinished:
            np.save(unfinished / "background.npy", vectors)
            centres = cell_centres(vectors, min(n, n_cells), seed=SEED, threads=self.threads)
            np.save(unfinished / "centres.npy", centres)
            folders.seal(unfinished, {"n_background": n, "n_cells": len(centres)})

    def place(self, kind: str) -> Path:
        """
        Return the folder of ``runs`` or ``classes``, in which something is written or removed.

        Raises
        ------
        InputError
            If it is a link: what it leads to is not the index's.
        """
        folder = self.folder / kind
        if folder.is_symlink():
            raise InputError(f"'{folder}' is a link out of the index", fix="Put a folder in its place")
        return folder

    def remove(self, run: Run) -> None:
        """
        Remove a run; another process may have done so.

        Raises
        ------
        InputError
            If its folder holds a file of somebody else.
        """
        self.place("runs")
        folders.check_own(run.folder, run.about)
        folders.discard(run.folder)
        self.forget()

    def forget(self) -> None:
        """Read the runs again at their next use."""
        self._runs = None


def background_receptors(n: int, species: str, threads: int) -> pa.Table:
    """Return OLGA's first ``n`` receptors of `SEED`: the background of every index."""
    parts = np.array_split(np.arange(n), threads)

    def part(rows: np.ndarray) -> pa.Table:
        return synthesise(len(rows), seed=SEED, first=int(rows[0]) if len(rows) else 0, species=species)

    return pa.concat_tables(in_threads(part, parts, threads))


def fix_of_run(folder: Path, results: str | None = None) -> str:
    """Return what to do with a damaged run."""
    return f"Remove {folder}, then index {results or 'its results'} again"


def run_folders(index: Path) -> list[Path]:
    """Return the folders of runs; what has another name is not of airrvec."""
    return sorted(path for path in index.glob("runs/*") if RUN_NAME.fullmatch(path.name) and path.is_dir())


def is_index(folder: Path) -> bool:
    """Return whether a folder is, or was, an index."""
    return any((path / folders.ABOUT).is_file() for path in (folder, *run_folders(folder)))


def open_index(folder: Path, *, threads: int = 1) -> RunIndex:
    """
    Open an index.

    Raises
    ------
    InputError
        If there is none, if it is damaged, or if another version of airrvec made it.
    """
    if not is_index(folder):
        raise InputError(
            f"there is no index in '{folder}'", fix=f"Make one: airrvec index RESULTS --index {folder}"
        )
    fix = f"Index its runs again in a new folder, if {folder} is an index; if not, give another --index"
    about = folders.unseal(folder, fix)
    if about.get("format") != FORMAT:
        raise InputError(
            f"the index has format {about.get('format')}, this version of airrvec reads {FORMAT}",
            file=folder / folders.ABOUT,
            fix="Use the version that made it, or index its runs again",
        )
    return RunIndex(folder, about, threads)


def create_index(
    folder: Path,
    model: weights.LoadedModel,
    *,
    n_cells: int = N_CELLS,
    n_background: int | None = None,
    threads: int = 1,
) -> RunIndex:
    """
    Make an empty index for a model, or open the one that is there.

    Raises
    ------
    InputError
        If the folder holds other files, or an index with another number of background receptors than
        ``n_background``.
    """
    if not is_index(folder):
        folders.remove_abandoned(folder.parent, folder.name)
        # Looked at first: another process may make the index meanwhile.
        has_files = folder.exists() and any(folder.iterdir())
        if has_files and not is_index(folder):
            raise InputError(f"the folder '{folder}' holds other files", fix="Give a new folder as --index")
        with folders.new_folder(folder) as unfinished:
            if not is_published(model):
                model.save(unfinished / "model")
            about = {"format": FORMAT, "model": model.name, "weights_sha256": model.checksum}
            about |= {"n_dimensions": model.config.d_model, "n_cells": n_cells}
            about |= {"n_background": n_background or N_BACKGROUND}
            folders.seal(unfinished, about)
    opened = open_index(folder, threads=threads)
    if n_background not in (None, opened.about["n_background"]):
        n = f"{opened.about['n_background']:,}"
        raise InputError(
            f"the index '{folder}' has {n} background receptors, not {n_background:,}: they are made once",
            fix="Leave the number out, or make a new index",
        )
    return opened


def is_published(model: weights.LoadedModel) -> bool:
    """Return whether a model is a published variant that comes with airrvec."""
    return model.name in VARIANTS and weights.load(model.name).checksum == model.checksum


# --- Which runs of an index are the same results in an earlier state, and which have samples in common

CONTENT = "content.json"  # of a run: sample → digest of the receptors of its cells
SHOWN = 5  # samples in a sentence


def manifest_digest(folder: Path) -> str | None:
    """Return the SHA-256 of the manifest of results; None if there is none."""
    path = folder / manifest.MANIFEST
    return records.sha256(path) if path.is_file() else None


def already_there(index: Path, folder: Path) -> str | None:
    """Return a sentence if a run is in an index, by the digest of its manifest; else None."""
    digest = manifest_digest(folder)
    for run in open_index(index).runs():
        if run.about["manifest"] == digest:
            return f"{folder} is in the index already, from {run.about['results']}: nothing to do"
    return None


def write_content(results: Path, folder: Path) -> None:
    """Write a digest of the receptors of each sample of results, cell by cell, into the folder of a run."""
    content = {}
    for path in sorted(results.glob("cells/*.parquet")):
        cells = tables.read(path, ["sample_id", "receptor_id"])
        if len(cells):
            ids = "\n".join(cells["receptor_id"].to_pylist())
            content[cells["sample_id"][0].as_py()] = hashlib.sha256(ids.encode()).hexdigest()
    tables.write_json(content, folder / CONTENT)


def read_content(folder: Path) -> dict[str, str]:
    """Return what `write_content` wrote."""
    return json.loads((folder / CONTENT).read_bytes())


def is_earlier(run: Run, path: str, content: dict[str, str]) -> bool:
    """
    Return whether a run of an index is an earlier state of results.

    It is one if it came from the same folder, ``path``. Results that were moved and changed are recognised by
    a sample with the same receptors, if the folder that they came from no longer holds them, and no sample is
    lost.
    """
    if run.about["results"] == path:
        return True
    is_gone = manifest_digest(Path(run.about["results"])) != run.about["manifest"]
    return is_gone and bool(_shared(run, content)) and run.about["samples"].keys() <= content.keys()


def _shared(run: Run, content: dict[str, str]) -> list[str]:
    """Return the samples that a run has with the same receptors."""
    return sorted(name for name, _ in read_content(run.folder).items() & content.items())


def samples_twice(runs: Iterable[Run], content: dict[str, str]) -> list[str]:
    """Return a sentence on each run of an index that has some of the same samples."""
    sentences = []
    for run in runs:
        if names := _shared(run, content):
            shown = ", ".join(names[:SHOWN]) + (" …" if len(names) > SHOWN else "")
            n = counted(len(names), "sample")
            sentences.append(f"{n} ({shown}) also in {run.about['results']}, and counted twice")
    return sentences


# --- Upkeep of an index of runs: its list, what is damaged, what killed processes have left


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
                folders.checked(run.folder, run.about, name, run.fix)
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
        unknown = folders.remove_abandoned(folder)
        lines += [f"{path} stays: a killed process may have left it, or still write it" for path in unknown]
        foreign = (path for path in sorted(folder.glob("*")) if path not in known)
        lines += [f"{path} stays: it is not of airrvec" for path in foreign if not folders.is_named(path)]
    return lines
