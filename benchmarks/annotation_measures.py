"""
Measures of similarity that `annotation` compares: SCEPTR, TCRdist and exact match.

They are the first look of annotation. `annotation_scores` measures the score of calls, with all evidence.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from airrvec.annotation import search
from airrvec.annotation.calibration import Calibration, CalibrationScores
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.benchmark.rules import KERNEL
from airrvec.core import schema
from airrvec.search import neighbours

MIN_REFERENCES = 10


class Ours:
    """Vectors of SCEPTR; sets of receptors by name."""

    title = "SCEPTR"

    def __init__(self, sets: dict, threads: int):
        from airrvec.encoders.sceptr import Sceptr

        encoder = Sceptr("sceptr")
        self.vectors = {name: encoder.embed(receptors) for name, receptors in sets.items()}
        self.threads = threads

    def found(self, name, rows, known, references):
        """Best epitope and score of some rows of a set against some references."""
        vectors = self.vectors
        return search.search_candidates(
            vectors[name][rows],
            known,
            vectors["reference"][references],
            vectors["contrast"],
            threads=self.threads,
        ).best()


@dataclass(frozen=True)
class FirstLook:
    """Calls by SCEPTR's share alone: references, vectors, background of the density, and what calibrates."""

    chains: str
    reference: ReferenceSet
    vectors: np.ndarray
    background: np.ndarray
    scores: CalibrationScores

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration of all epitopes."""
        return self.scores.calibration()

    def annotate(self, vectors: np.ndarray, *, fdr: float, threads: int = 1) -> tuple[pd.DataFrame, float]:
        """Return calls of receptors, and the estimated prevalence, as `Annotator.annotate`."""
        epitope, score = search.search_candidates(
            vectors, self.reference, self.vectors, self.background, threads=threads
        ).best()
        distance, _ = neighbours.nearest(vectors, self.vectors, 1, threads=threads)
        share = self.calibration.prevalence(score)
        rates = self.calibration.fdr(score, share)
        best = self.reference.epitopes["epitope"].to_numpy(object)[np.maximum(epitope, 0)]
        calls = pd.DataFrame(
            {
                "call": np.where((rates <= fdr) & (epitope >= 0), "called", "no call"),
                "best_epitope": np.where(epitope >= 0, best, None),
                "score": score,
                "fdr": rates,
                "nearest_1_distance": distance[:, 0],
            }
        )
        return calls, share


class Peer:
    """TCRdist by the same rule, its kernel as many times wider as its distances spread more."""

    title = "TCRdist"

    def __init__(self, sets: dict, spread: float):
        from airrvec.encoders.tcrdist import Tcrdist

        measure = Tcrdist()
        self.of = {
            name: tuple(measure.distances(receptors, sets[other]) for other in ("reference", "contrast"))
            for name, receptors in sets.items()
            if name != "contrast"
        }
        of_references = self.of["reference"][0]
        sample = np.triu_indices(min(1000, len(of_references)), 1)
        self.kernel = KERNEL * of_references[sample].std() / spread

    def found(self, name, rows, known, references):
        to_references, to_contrast = (distances[rows] for distances in self.of[name])
        to_references = to_references[:, references]
        nearest = np.argpartition(to_references, search.N_NEIGHBOURS, axis=1)[:, : search.N_NEIGHBOURS]
        distances = np.take_along_axis(to_references, nearest, 1).astype(np.float32)
        to_contrast = np.partition(to_contrast, search.N_NEIGHBOURS, axis=1)[:, : search.N_NEIGHBOURS]
        return search.score_neighbours(
            distances, nearest, to_contrast.astype(np.float32), known, kernel=self.kernel
        ).best()


class Exact:
    """Genes and junctions of both chains the same, alleles aside; score 1 or 0."""

    title = "exact match"

    def __init__(self, sets: dict):
        self.keys = {name: self._keys(receptors) for name, receptors in sets.items()}

    @staticmethod
    def _keys(receptors) -> np.ndarray:
        frame = receptors.select(list(schema.RECEPTOR_FIELDS)).to_pandas()
        return frame.apply(lambda column: column.str.split("*").str[0]).agg("|".join, axis=1).to_numpy()

    def found(self, name, rows, known, references):
        candidate = (known.epitopes["n_references"] >= MIN_REFERENCES).to_numpy()
        labels = known.labels.toarray() * candidate
        of_key = {}
        for key, label in zip(self.keys["reference"][references], labels, strict=True):
            of_key[key] = of_key.get(key, 0) + label
        zero = np.zeros(len(candidate))
        votes = np.array([of_key.get(key, zero) for key in self.keys[name][rows]])
        return votes.argmax(axis=1), (votes.max(axis=1) > 0).astype(float)
