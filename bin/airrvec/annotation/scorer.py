"""
The score of a call: what the evidence for an epitope says together.

Boosted trees (Friedman 2001, Annals of Statistics 29), whose output never falls when any evidence rises, are
trained on labelled receptors whose studies the references lack, and on background receptors. A part in
proportion to the log odds of the first two shares is added, because trees cannot tell apart receptors that
are surer than any they were trained on.
"""

from dataclasses import dataclass

from airrvec.annotation.candidates import Candidates
from airrvec.annotation.evidence import Evidence
from airrvec.core.runtime import one_openmp_thread

import numba
import numpy as np
from scipy import sparse

LINEAR = 0.3  # weight of the log odds of SCEPTR's and TCRdist's shares beside the trees
NOT_LOOKED_AT = -60.0  # added to the scores of candidates without a second look

N_LEVELS = 255  # values of a kind of evidence that trees tell apart

TREES = {
    "learning_rate": 0.05,
    "max_iter": 150,
    "max_leaf_nodes": 8,
    "min_samples_leaf": 50,
    "l2_regularization": 5.0,
}


@dataclass(frozen=True)
class Scorer:
    """
    Score of the evidence for an epitope.

    Attributes
    ----------
    threshold : float
        Lowest best score by SCEPTR of receptors that are looked at again.
    typical : ndarray of float64, shape (n_names,)
        Median evidence for the likeliest epitope of background receptors that are looked at again.
    start : float
        Score before the first tree; 0 without trees.
    feature, left, right : ndarray of int32, shape (n_nodes,)
        Column that a node compares, and its children; -1 in a leaf.
    value : ndarray of float64, shape (n_nodes,)
        What a node compares with (at most: left), or what a leaf adds.
    roots : ndarray of int32, shape (n_trees,)
    """

    threshold: float
    typical: np.ndarray
    start: float
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    roots: np.ndarray

    @property
    def is_trained(self) -> bool:
        """Whether there are trees; otherwise the score is the linear part alone."""
        return len(self.roots) > 0

    def score(self, values: np.ndarray) -> np.ndarray:
        """Return the score of evidence, shape (m, n_names): log odds of a right call, and the linear part."""
        linear = LINEAR * _log_odds(values[:, :2]).sum(axis=1)
        return (
            self.start
            + linear
            + _sum_of_trees(
                np.ascontiguousarray(values), self.roots, self.feature, self.left, self.right, self.value
            )
        )

    def weights_of_evidence(self, values: np.ndarray) -> np.ndarray:
        """
        Return by how much each evidence raises the score; shape (m, n_names).

        That is the score minus the score with what background receptors have in place of this evidence.
        """
        whole = self.score(values)
        raised = []
        for column in range(values.shape[1]):
            without = values.copy()
            without[:, column] = np.minimum(self.typical[column], values[:, column])
            raised.append(whole - self.score(without))
        return np.stack(raised, axis=1)

    def candidates(self, evidence: Evidence) -> Candidates:
        """
        Return the scores of the candidates of all receptors.

        Candidates without a second look have SCEPTR's score, so much lower that they are below all others.
        """
        first = evidence.first
        n_epitopes = first.scores.shape[1]
        row = np.repeat(np.arange(len(first)), np.diff(first.scores.indptr))
        looked_at = evidence.receptor * n_epitopes + evidence.epitope
        left = ~np.isin(row * n_epitopes + first.scores.indices, looked_at)
        score = np.concatenate([self.score(evidence.measures), first.scores.data[left] + NOT_LOOKED_AT])
        rows = np.concatenate([evidence.receptor, row[left]])
        columns = np.concatenate([evidence.epitope, first.scores.indices[left]])
        scores = sparse.csr_array((score, (rows, columns)), first.scores.shape)
        scores.sort_indices()
        return Candidates(scores, first.floor + NOT_LOOKED_AT)


def fit(values: np.ndarray, right: np.ndarray, weight: np.ndarray, threshold: float, typical) -> Scorer:
    """
    Train a scorer.

    Parameters
    ----------
    values : ndarray of float64, shape (m, n_names)
        Evidence for pairs of a receptor and an epitope.
    right : ndarray of bool, shape (m,)
        Whether the receptor binds the epitope.
    weight : ndarray of float64, shape (m,)
    threshold, typical
        Of the `Scorer`.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(
        **TREES, monotonic_cst=[1] * values.shape[1], early_stopping=False, random_state=0
    )
    with one_openmp_thread():  # a loop for each node of a tree
        trees.fit(coarse(values), right, sample_weight=weight / weight.mean())
    return Scorer(threshold, typical, *_arrays(trees))


def coarse(values: np.ndarray) -> np.ndarray:
    """
    Return the values of each column, the greatest of its `N_LEVELS` quantiles that is not greater.

    scikit-learn's trees know no more than 255 values; it takes five times as long to find such quantiles.
    """
    coarse = np.empty_like(values)
    for column, given in enumerate(values.T):
        levels = np.unique(np.quantile(given, np.linspace(0, 1, N_LEVELS), method="lower"))
        coarse[:, column] = levels[np.searchsorted(levels, given, side="right") - 1]
    return coarse


def untrained(threshold: float, typical: np.ndarray) -> Scorer:
    """Return a scorer without trees, whose score is the linear part alone."""
    nothing = np.empty(0, np.int32)
    return Scorer(threshold, typical, 0.0, nothing, nothing, nothing, np.empty(0), nothing)


def _arrays(trees) -> tuple:
    """Return ``start``, ``feature``, ``left``, ``right``, ``value`` and ``roots`` of scikit-learn's trees."""
    parts, roots, n = [], [], 0
    for (tree,) in trees._predictors:
        nodes = tree.nodes
        leaf = nodes["is_leaf"].astype(bool)
        parts.append(
            (
                np.where(leaf, -1, nodes["feature_idx"]),
                np.where(leaf, -1, nodes["left"].astype(np.int64) + n),
                np.where(leaf, -1, nodes["right"].astype(np.int64) + n),
                np.where(leaf, nodes["value"], nodes["num_threshold"]),
            )
        )
        roots.append(n)
        n += len(nodes)
    feature, left, right, value = (np.concatenate(part) for part in zip(*parts, strict=True))
    start = float(np.ravel(trees._baseline_prediction)[0])
    whole = (array.astype(np.int32) for array in (feature, left, right))
    return start, *whole, value, np.array(roots, np.int32)


def _log_odds(log_share: np.ndarray) -> np.ndarray:
    """Return the log odds of shares whose logarithms are given; shares beyond 1 − 1e-6 count as this."""
    log_share = np.minimum(log_share, -1e-6)
    return log_share - np.log(-np.expm1(log_share))


@numba.njit(cache=True, nogil=True)
def _sum_of_trees(values, roots, feature, left, right, value):
    total = np.zeros(len(values))
    for row in range(len(values)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                node = left[node] if values[row, feature[node]] <= value[node] else right[node]
            total[row] += value[node]
    return total
