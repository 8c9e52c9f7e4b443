"""Receptors, splits, distances and densities of `few_shot_rules`."""

import subprocess
import sys
from pathlib import Path

from airrvec import encoders
from airrvec.benchmark import fewshot
from airrvec.core import tables
from airrvec.core.chains import on_chains
from airrvec.encoders.combined import SAMPLE
from airrvec.stats.metrics import Curves, Ranking
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
from scipy import sparse
from scipy.spatial.distance import cdist

ROOT = Path(__file__).parents[1]
TINY = 1e-38
BLOCK = 500
# Kernel widths are in the unit of SCEPTR's distances: each measure is scaled to their standard deviation.
UNIT = ("sceptr", "paired")


def labelled_receptors(path: Path, folder: Path, exclude: str) -> tuple[fewshot.LabelledReceptors, tuple]:
    """Return the receptors of the benchmark, and all cells and receptors of the table."""
    command = [ROOT / "bin" / "normalise_receptors.py", path, "--sample", "labelled", "--outdir", folder]
    subprocess.run([sys.executable, *map(str, command)], check=True, cwd=folder)
    cells = tables.read(folder / "labelled.cells.parquet")
    parts = [tables.read(part) for part in sorted(folder.glob("labelled.receptors_*.parquet"))]
    receptors = tables.distinct_receptors(pa.concat_tables(parts))
    options = {"species": "homosapiens", "exclude_references": exclude}
    return fewshot.select_labelled(cells, receptors, **options), (cells, receptors)


class Material:
    """
    Splits of the epitopes that have enough receptors, largest first, and distances to their receptors.

    Attributes
    ----------
    epitopes : list of str
        The e epitopes.
    references : ndarray of int, shape (e, s, k)
        References, as rows of the receptors.
    rows : ndarray of int, shape (m,)
        Receptors of the epitopes, the rows of the distance matrices.
    tested : ndarray of bool, shape (s, n)
        Receptors that are no reference of any epitope.
    """

    def __init__(self, labelled: fewshot.LabelledReceptors, *, k: int, n_splits: int, seed: int):
        options = {"ks": [k], "n_splits": n_splits, "min_positives": 100, "seed": seed}
        planned = {split.epitope: split.references for split in fewshot.plan_splits(labelled, **options)[0]}
        self.labelled, self.n = labelled, len(labelled.receptors)
        self.epitopes = sorted(planned, key=lambda epitope: (-len(labelled.epitopes[epitope]), epitope))
        self.references = np.stack([planned[epitope] for epitope in self.epitopes])
        members = [labelled.epitopes[epitope] for epitope in self.epitopes]
        self.rows = np.unique(np.concatenate(members))
        self.positive = np.stack([np.isin(np.arange(self.n), rows) for rows in members])
        self.tested = np.ones((n_splits, self.n), bool)
        for of_epitope in self.references:
            np.put_along_axis(self.tested, of_epitope, False, axis=1)
        self._kept: dict[tuple, np.ndarray] = {}
        self._scales: dict[tuple, float] = {}
        columns = np.searchsorted(self.rows, self.references.ravel())
        numbers = np.repeat(np.arange(self.references.shape[0] * n_splits), k)
        self._chosen = sparse.csr_array(
            (np.ones(len(columns), np.float32), (numbers, columns)),
            shape=(len(self.epitopes) * n_splits, len(self.rows)),
        )

    def distances(self, measure: tuple[str, str]) -> np.ndarray:
        """Return the distances of an encoder on chains, scaled; shape (m, n)."""
        if measure not in self._kept:
            name, chains = measure
            encoder = encoders.load(name)
            rows_to_all = encoders.distance_rows(encoder, on_chains(self.labelled.receptors, chains))
            blocks = np.array_split(self.rows, len(self.rows) // BLOCK + 1)
            raw = np.concatenate([rows_to_all(rows) for rows in blocks]).astype(np.float32)
            sample = np.unique(np.linspace(0, self.n - 1, SAMPLE).astype(int))
            spread = rows_to_all(sample)[:, sample][np.triu_indices(len(sample), 1)].std()
            self._scales[measure] = 1.0 if measure == UNIT else self.spread / spread
            self._kept[measure] = raw * np.float32(self._scales[measure])
            if measure == UNIT:
                self._spread = float(spread)
        return self._kept[measure]

    @property
    def spread(self) -> float:
        """Standard deviation of SCEPTR's distances."""
        self.distances(UNIT)
        return self._spread

    def from_others(self, others: pa.Table, measure: tuple[str, str]) -> np.ndarray:
        """Return the distances of further receptors to all, scaled; shape (n_others, n)."""
        self.distances(measure)
        name, chains = measure
        encoder = encoders.load(name)
        known = on_chains(self.labelled.receptors, chains)
        others = on_chains(others.select(known.column_names), chains)
        if encoders.has_vectors(encoder):
            distances = cdist(encoder.embed(others), encoder.embed(known))
        else:
            joined = pa.concat_tables([others, known])
            distances = encoders.distance_rows(encoder, joined)(np.arange(len(others)))[:, len(others) :]
        return distances.astype(np.float32) * np.float32(self._scales[measure])

    def background(self, n: int, measure: tuple[str, str]) -> np.ndarray:
        """Return distances of receptors generated by OLGA; shape (n, n_receptors)."""
        return self.from_others(tables.distinct_receptors(synthesise(n, seed=1)), measure)

    def densities(self, distances: np.ndarray, kernel: float, power: int = 1) -> np.ndarray:
        """Return log Σ exp(−(d / kernel) ** power) over the references of each split; shape (e, s, n)."""
        return self.sums(np.exp(-((distances / np.float32(kernel)) ** power)))

    def sums(self, terms: np.ndarray) -> np.ndarray:
        """Return the log of the sum of terms, shape (m, n), over the references; shape (e, s, n)."""
        sums = np.maximum(self._chosen @ terms, TINY)
        return np.log(sums).reshape(*self.references.shape[:2], -1)

    def own_rows(self, epitope: int, split: int) -> np.ndarray:
        """Return the rows of the distance matrices that are references."""
        return np.searchsorted(self.rows, self.references[epitope, split])

    def aurocs(self, scores: np.ndarray) -> np.ndarray:
        """Return the AUROC of scores, shape (e, s, n), higher is nearer; shape (e, s)."""
        values = []
        for positive, of_epitope in zip(self.positive, scores, strict=True):
            parts = [
                Curves(Ranking.of(-of_epitope[[i]]), positive, self.tested[[i]]).metrics()["auroc"]
                for i in range(len(of_epitope))
            ]
            values.append(np.concatenate(parts))
        return np.stack(values)


def log_odds(densities: np.ndarray, further: np.ndarray | None = None) -> np.ndarray:
    """
    Return the log ratio of each epitope's density to the sum of all other epitopes'.

    Parameters
    ----------
    densities : ndarray, shape (e, ...)
        Log densities.
    further : ndarray, shape (...), optional
        Density (not its log) of further receptors that are not of the epitopes.
    """
    highest = densities.max(axis=0)
    terms = np.exp(densities - highest)
    total = terms.sum(axis=0) + (0 if further is None else further * np.exp(-highest))
    return densities - highest - np.log(np.maximum(total - terms, TINY))
