"""What annotation finds of receptors, as arrays: 100 bytes of each."""

from dataclasses import dataclass, fields

from airrvec.annotation.search import N_REPORTED

import numpy as np


@dataclass(frozen=True)
class Found:
    """
    Best epitope, evidence and nearest references of n receptors.

    Attributes
    ----------
    epitope, allowed_epitope : ndarray of int32, shape (n,)
        Row of `ReferenceSet.epitopes`, -1 if there is none: of all, and of those that the donor can present.
    score, allowed_score : ndarray of float64, shape (n,)
        Their scores; NaN without a vector.
    weights : ndarray of float64, shape (n, n_names)
        What each kind of evidence adds to the score of the allowed epitope; NaN for receptors that were not
        looked at again.
    distances, rows : ndarray of float32 and int32, shape (n, N_REPORTED)
        The nearest references; -1 where there is none.
    """

    epitope: np.ndarray
    score: np.ndarray
    allowed_epitope: np.ndarray
    allowed_score: np.ndarray
    weights: np.ndarray
    distances: np.ndarray
    rows: np.ndarray

    @classmethod
    def empty(cls, n: int, n_names: int) -> "Found":
        """Return what is found of ``n`` receptors before any is searched."""
        epitopes = (np.full(n, -1, np.int32) for _ in range(2))
        scores = (np.full(n, np.nan) for _ in range(2))
        first, second = zip(epitopes, scores, strict=True)
        nearest = np.full((n, N_REPORTED), np.inf, np.float32), np.full((n, N_REPORTED), -1, np.int32)
        return cls(*first, *second, np.full((n, n_names), np.nan), *nearest)

    def put(self, rows: np.ndarray, part: "Found") -> None:
        """Enter what is found of the receptors of these rows."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(part, field.name)

    def take(self, rows: np.ndarray | slice) -> "Found":
        """Return what is found of some receptors."""
        return Found(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Rated:
    """
    What is found of the receptors of a sample, with error rates, which depend on all of them.

    Attributes
    ----------
    found : Found
    called, excluded : ndarray of bool, shape (n,)
        Whether the allowed epitope is called; whether the best one would be, and the donor cannot present it.
    probability, fdr : ndarray of float64, shape (n,)
    """

    found: Found
    called: np.ndarray
    excluded: np.ndarray
    probability: np.ndarray
    fdr: np.ndarray

    def take(self, rows: np.ndarray | slice) -> "Rated":
        """Return those of some receptors."""
        rest = (getattr(self, field.name)[rows] for field in fields(self)[1:])
        return Rated(self.found.take(rows), *rest)
