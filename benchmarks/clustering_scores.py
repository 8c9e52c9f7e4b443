"""
Scores of pairs of receptors for `clustering_constructions`: the lower, the nearer.

SCEPTR's distance, TCRdist, sums of both, and these relative to background receptors. No score uses a label.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from airrvec import encoders
from airrvec.benchmark import fewshot
from airrvec.core import schema, tables
from airrvec.synthetic import generation
from airrvec.synthetic.background import background

import numpy as np
import pyarrow as pa

NEIGHBOUR = 10  # of 10,000 background receptors: its distance is the local radius
KNOTS = 300  # distances at which the share of background pairs is counted
RELIABLE = 1e-6  # share of background pairs below which log shares are extrapolated
BLOCK = 1000
DISTANCES = ("SCEPTR", "TCRdist")


class Material:
    """
    Labelled receptors and background receptors.

    Attributes
    ----------
    receptors : pyarrow.Table, n rows
    labels : ndarray of bool, shape (n, n_epitopes)
        Which epitopes each receptor has.
    others : pyarrow.Table, m rows
        Background receptors.
    """

    def __init__(self, cells: Path, receptors: Path, *, exclude: str, seed: int, model: str = "sceptr"):
        labelled = fewshot.select_labelled(
            tables.read(cells), tables.read(receptors), species="homosapiens", exclude_references=exclude
        )
        self.receptors = labelled.receptors
        self.labels = np.zeros((len(self.receptors), len(labelled.epitopes)), bool)
        for column, rows in enumerate(labelled.epitopes.values()):
            self.labels[rows, column] = True
        self.others = background(
            None, species="homosapiens", seed=seed, leave_out=self.receptors["clonotype_id"]
        )
        self.encoders = {"SCEPTR": encoders.load(model), "TCRdist": encoders.load("tcrdist")}
        self._found = {}

    def distances(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return distances between receptors, (n, n), and to background receptors, (n, m), as float32."""
        if name not in self._found:
            n = len(self.receptors)
            parts = self.receptors, self.others
            together = pa.concat_tables([part.select(schema.RECEPTORS.names) for part in parts])
            rows = encoders.distance_rows(self.encoders[name], together)
            blocks = [rows(np.arange(i, min(i + BLOCK, n))).astype(np.float32) for i in range(0, n, BLOCK)]
            every = np.concatenate(blocks)
            self._found[name] = np.ascontiguousarray(every[:, :n]), np.ascontiguousarray(every[:, n:])
        return self._found[name]

    @cached_property
    def generation(self) -> np.ndarray:
        """log10 of the generation probability of both chains, shape (n,); median where OLGA gives none."""
        found = generation.log10_probabilities(
            generation.receptor_probabilities(self.receptors, species="homosapiens")
        )
        return np.where(np.isfinite(found), found, np.nanmedian(found[np.isfinite(found)]))

    def chances(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return log10 of the share of background pairs within the distances of ``distances(name)``."""
        between, to_background = self.distances(name)
        to_chance = log_chance(to_background)
        return to_chance(between), to_chance(to_background)


def log_chance(to_background: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """
    Return the function from a distance to log10 of the share of background pairs within it.

    It is piecewise linear, and extrapolated below the distance with a share of `RELIABLE`, so that it grows
    with the distance everywhere.
    """
    counts, edges = np.histogram(to_background, KNOTS)
    share = np.cumsum(counts) / counts.sum()
    knots, logs = edges[1:], np.log10(np.maximum(share, 1e-12))
    first = int(np.searchsorted(share, RELIABLE))
    slope = (logs[first + 10] - logs[first]) / (knots[first + 10] - knots[first])
    knots = np.concatenate([[0.0], knots[first:]])
    logs = np.concatenate([[logs[first] - slope * knots[1]], logs[first:]])
    return lambda distances: np.interp(distances, knots, logs).astype(np.float32)


def local_radius(to_background: np.ndarray) -> np.ndarray:
    """Return the distance of each receptor to its `NEIGHBOUR`-th nearest background receptor, shape (n,)."""
    return np.partition(to_background, NEIGHBOUR - 1, axis=1)[:, NEIGHBOUR - 1]


def _one(name):
    return lambda material: material.distances(name)[0]


def _sum(material: Material) -> tuple[np.ndarray, np.ndarray]:
    """Distances divided by the standard deviation of the distances to background receptors, added."""
    parts = [material.distances(name) for name in DISTANCES]
    spreads = [to_background.std() for _, to_background in parts]
    return tuple(sum(part[i] / spread for part, spread in zip(parts, spreads, strict=True)) for i in range(2))


def _log_sum(material: Material) -> np.ndarray:
    return sum(material.chances(name)[0] for name in DISTANCES)


def _both(material: Material) -> np.ndarray:
    """Intersection of the graphs of equal chance."""
    return np.maximum(*(material.chances(name)[0] for name in DISTANCES))


def _either(material: Material) -> np.ndarray:
    """Union of the graphs of equal chance."""
    return np.minimum(*(material.chances(name)[0] for name in DISTANCES))


def _scaled(parts, mean=lambda a, b: np.sqrt(a * b)):
    """Distances relative to the local radii of both receptors."""

    def scores(material: Material) -> np.ndarray:
        between, to_background = parts(material)
        radius = local_radius(to_background)
        return between / mean(radius[:, None], radius[None, :]).astype(np.float32)

    return scores


def _with_generation(score, weight: float):
    """A log chance plus ``weight`` times the mean log generation probability of both receptors."""

    def scores(material: Material) -> np.ndarray:
        half = (weight / 2 * material.generation).astype(np.float32)
        return score(material) + half[:, None] + half[None, :]

    return scores


SCORES: dict[str, Callable[[Material], np.ndarray]] = {
    "SCEPTR": _one("SCEPTR"),
    "TCRdist": _one("TCRdist"),
    "sum": lambda material: _sum(material)[0],
    "sum of log chances": _log_sum,
    "both": _both,
    "either": _either,
    "SCEPTR, local": _scaled(lambda material: material.distances("SCEPTR")),
    "TCRdist, local": _scaled(lambda material: material.distances("TCRdist")),
    "sum, local": _scaled(_sum),
    "SCEPTR, local mutual": _scaled(lambda material: material.distances("SCEPTR"), np.minimum),
    "sum, local mutual": _scaled(_sum, np.minimum),
    "SCEPTR, generation 0.1": _with_generation(lambda material: material.chances("SCEPTR")[0], 0.1),
    "SCEPTR, generation 0.3": _with_generation(lambda material: material.chances("SCEPTR")[0], 0.3),
    "sum, generation 0.1": _with_generation(lambda material: _log_sum(material) / 2, 0.1),
}
