"""Scores of all candidate epitopes of receptors, of which those that a donor cannot present are left out."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class Candidates:
    """
    Scores of the candidate epitopes of n receptors.

    Attributes
    ----------
    scores : csr_array of float64, shape (n, n_epitopes)
        Score of each candidate with a reference among the receptor's neighbours.
    floor : ndarray of float64, shape (n,)
        Score of any other epitope; NaN for a receptor without neighbours.
    """

    scores: sparse.csr_array
    floor: np.ndarray

    def __len__(self) -> int:
        return len(self.floor)

    def take(self, rows: np.ndarray) -> "Candidates":
        """Return the candidates of these receptors."""
        return Candidates(self.scores[rows], self.floor[rows])

    def best(self, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the epitope with the highest score of each receptor, and this score.

        Parameters
        ----------
        allowed : ndarray of bool, shape (n_epitopes,), optional
            Epitopes that may be the best one; all if not given.

        Returns
        -------
        epitope : ndarray of int64, shape (n,)
            The first one of equal scores; -1 if no candidate is allowed.
        score : ndarray of float64, shape (n,)
        """
        epitope, score = np.full(len(self), -1), self.floor.copy()
        values = self.scores.data
        if allowed is not None:
            values = np.where(allowed[self.scores.indices], values, -np.inf)
        starts = self.scores.indptr[:-1]
        rows = np.flatnonzero(np.diff(self.scores.indptr))
        if len(rows):
            highest = np.maximum.reduceat(values, starts[rows])
            row = np.repeat(np.arange(len(self)), np.diff(self.scores.indptr))
            of_row = np.zeros(len(self))
            of_row[rows] = highest
            places = np.flatnonzero((values == of_row[row]) & np.isfinite(values))
            found, first = np.unique(row[places], return_index=True)
            epitope[found] = self.scores.indices[places[first]]
            score[found] = of_row[found]
        return epitope, score


def no_candidates(n_epitopes: int) -> Candidates:
    """Return the candidates of no receptors."""
    return Candidates(sparse.csr_array((0, n_epitopes)), np.empty(0))


def stacked(parts: list[Candidates]) -> Candidates:
    """Return the candidates of several sets of receptors, one after another."""
    scores = sparse.csr_array(sparse.vstack([part.scores for part in parts], format="csr"))
    return Candidates(scores, np.concatenate([part.floor for part in parts]))


def binds_epitope(binds: sparse.csr_array, epitope: np.ndarray) -> np.ndarray:
    """Return whether each receptor, a row of ``binds``, binds the epitope of this number; False for -1."""
    if not len(epitope):
        return np.empty(0, bool)
    return (binds[np.arange(len(epitope)), np.maximum(epitope, 0)] > 0) & (epitope >= 0)
