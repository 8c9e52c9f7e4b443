"""Input that all analyses share: receptors, pairs of receptors, and distances by blocks."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from airrvec import encoders
from airrvec.analyses import AnalysisSkipped
from airrvec.core.chains import on_chains
from airrvec.core.schema import MEAN
from airrvec.core.seeds import generator
from airrvec.evaluation.fewshot import LabelledReceptors

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

# All pairs of the paper's thousand receptors; for more receptors, as many pairs are drawn.
MAX_PAIRS = 500_000
BLOCK = 256  # rows of a distance matrix in memory at once


@dataclass(frozen=True)
class Material:
    """
    Input of an analysis.

    Attributes
    ----------
    labelled : LabelledReceptors
        All labelled receptors.
    n_receptors : int
        Number of labelled receptors in an analysis of random receptors.
    min_receptors : int
        Fewest receptors of an epitope that is analysed separately.
    seed : int
        Seed of every random choice, combined with names.
    name : str
        Name of the encoder in the tables.
    encoder
        From `airrvec.encoders.load`; None if the analysis needs none.
    generation : pyarrow.Table or None
        `airrvec.core.schema.GENERATION` of the sampled receptors, if the analysis needs it.
    splitting : dict
        Options of the split for fine-tuning: ``method``, ``per_epitope``, ``min_receptors``.
    """

    labelled: LabelledReceptors
    n_receptors: int
    min_receptors: int
    seed: int
    name: str = ""
    encoder: Any = None  # with the methods of the contract for encoders that it has
    generation: pa.Table | None = None
    splitting: dict | None = None

    @cached_property
    def sample(self) -> LabelledReceptors:
        """Random labelled receptors, the same for every analysis and encoder."""
        n = len(self.labelled.receptors)
        if n <= self.n_receptors:
            return self.labelled
        rows = np.sort(generator(self.seed, "analyses").choice(n, self.n_receptors, replace=False))
        return subset(self.labelled, rows)

    @property
    def epitopes(self) -> dict[str, np.ndarray]:
        """Row numbers of the receptors of each epitope that has at least ``min_receptors``."""
        return {
            name: rows for name, rows in self.labelled.epitopes.items() if len(rows) >= self.min_receptors
        }

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """Return the encoder's vectors of receptors; raise `AnalysisSkipped` if it gives only distances."""
        if not encoders.has_vectors(self.encoder):
            raise AnalysisSkipped("it gives distances, and no vectors")
        return self.encoder.embed(receptors)

    def pairs(self, receptors: LabelledReceptors, *names: str) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of receptors by the function `pairs`, drawn with the seed and ``names``."""
        return pairs(len(receptors.receptors), generator(self.seed, "pairs", *names))


def subset(labelled: LabelledReceptors, rows: np.ndarray) -> LabelledReceptors:
    """Return the receptors of these sorted row numbers; epitopes without receptors are dropped."""
    epitopes = {name: np.flatnonzero(np.isin(rows, own)) for name, own in labelled.epitopes.items()}
    kept = {name: own for name, own in epitopes.items() if len(own)}
    return replace(labelled, receptors=labelled.receptors.take(pa.array(rows)), epitopes=kept, sources=None)


def pairs(n: int, rng: np.random.Generator, most: int = MAX_PAIRS) -> tuple[np.ndarray, np.ndarray]:
    """
    Return pairs of different receptors: all pairs, or about ``most`` random pairs if there are more.

    Returns
    -------
    i, j : ndarray of int, shape (n_pairs,)
        Row numbers, i < j, sorted by i, then j; no pair twice.
    """
    if n * (n - 1) // 2 <= most:
        return np.triu_indices(n, 1)
    first, second = rng.integers(0, n, (2, most))
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.divmod(np.unique(low[low < high] * n + high[low < high]), n)


def pair_distances(encoder, receptors: pa.Table, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """
    Return distances of pairs, computed with `BLOCK` rows of the distance matrix at a time.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    receptors : pyarrow.Table
        Table of receptors.
    i, j : ndarray of int, shape (n_pairs,)
        Row numbers; ``i`` is sorted.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
    """
    rows_to_all = encoders.distance_rows(encoder, receptors)
    distances = np.empty(len(i))
    needed = np.unique(i)
    for start in range(0, len(needed), BLOCK):
        rows = needed[start : start + BLOCK]
        own = slice(*np.searchsorted(i, (rows[0], rows[-1] + 1)))
        distances[own] = rows_to_all(rows)[np.searchsorted(rows, i[own]), j[own]]
    return distances


def co_specific(labelled: LabelledReceptors, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return whether the receptors of each pair share an epitope; bool, shape (n_pairs,)."""
    rows = np.concatenate([*labelled.epitopes.values(), np.array([], np.int64)])
    columns = np.repeat(np.arange(len(labelled.epitopes)), [len(own) for own in labelled.epitopes.values()])
    shape = (len(labelled.receptors), len(labelled.epitopes))
    binds = sparse.csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape=shape)
    return binds[i].multiply(binds[j]).sum(axis=1) > 0


def tcrdist(receptors: pa.Table, i: np.ndarray, j: np.ndarray, chains: str = "paired") -> np.ndarray:
    """Return the TCRdist of pairs, float64: of ``alpha``, of ``beta``, or the ``paired`` sum of both."""
    return pair_distances(encoders.load("tcrdist"), on_chains(receptors, chains), i, j)


def nearest_neighbour_auroc(summary: pd.DataFrame | None, *, excluded: str = "none") -> pd.DataFrame:
    """
    Return the nearest-neighbour AUROC of paired receptors at the largest k, from an ``AUROC_SUMMARY``.

    Returns
    -------
    DataFrame
        ``encoder``, ``epitope`` (also ``mean``), ``k``, ``auroc``; empty without a benchmark.
    """
    columns = {"encoder": str, "epitope": str, "k": int, "auroc": float}
    if summary is None:
        return pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in columns.items()})
    wanted = {"rule": "nearest_neighbour", "chains": "paired", "test_set": "all", "excluded": excluded}
    for column, value in wanted.items():
        if column in summary:
            summary = summary[summary[column] == value]
    largest = summary[summary["k"] == summary["k"].max()]
    return largest.rename(columns={"auroc_mean": "auroc"})[list(columns)].reset_index(drop=True)


def with_mean_auroc(measured: pa.Table, auroc: pd.DataFrame) -> pa.Table:
    """
    Return a table of encoders with their mean AUROC over epitopes, null if they have none.

    Parameters
    ----------
    measured : pyarrow.Table
        ``encoder``, ``k``, ``auroc`` and other columns; ``k`` and ``auroc`` are replaced.
    auroc : DataFrame
        From `nearest_neighbour_auroc`.
    """
    means = auroc[auroc["epitope"] == MEAN].set_index("encoder")
    data = measured.to_pandas().drop(columns=["k", "auroc"]).join(means[["k", "auroc"]], on="encoder")
    return pa.Table.from_pandas(data, measured.schema, preserve_index=False)
