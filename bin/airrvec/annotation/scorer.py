"""
The score of a call: the combined evidence for an epitope.

Boosted trees (Friedman 2001, Annals of Statistics 29), whose output never falls when any evidence rises, are
trained on labelled receptors whose studies the references lack, and on background receptors. A part in
proportion to the log odds of the first two shares is added, because trees cannot tell apart receptors that
are surer than any they were trained on.
"""

from collections.abc import Callable
from dataclasses import dataclass

from airrvec.annotation.evidence import Candidates, Evidence, binds_epitope
from airrvec.core.compiled import compiled
from airrvec.core.runtime import one_openmp_thread

import numpy as np
import scipy  # whose parts are imported on use
from scipy import sparse

LINEAR = 0.3  # weight of the log odds of SCEPTR's and TCRdist's shares beside the trees
NOT_RESCORED = -60.0  # added to the scores of candidates that are not rescored

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
        Lowest best score by SCEPTR of receptors that are rescored.
    typical : ndarray of float64, shape (n_names,)
        Median evidence for the likeliest epitope of background receptors that are rescored.
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

        Candidates that are not rescored have SCEPTR's score, so much lower that they are below all others.
        """
        first = evidence.first
        n_epitopes = first.scores.shape[1]
        row = np.repeat(np.arange(len(first)), np.diff(first.scores.indptr))
        rescored = evidence.receptor * n_epitopes + evidence.epitope
        left = ~np.isin(row * n_epitopes + first.scores.indices, rescored)
        score = np.concatenate([self.score(evidence.measures), first.scores.data[left] + NOT_RESCORED])
        rows = np.concatenate([evidence.receptor, row[left]])
        columns = np.concatenate([evidence.epitope, first.scores.indices[left]])
        scores = sparse.csr_array((score, (rows, columns)), first.scores.shape)
        scores.sort_indices()
        return Candidates(scores, first.floor + NOT_RESCORED)


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
    Round each column down to its quantile grid of `N_LEVELS` values.

    scikit-learn's trees know no more than 255 values; it takes five times as long to find such quantiles.
    """
    coarse = np.empty_like(values)
    for column, column_values in enumerate(values.T):
        levels = np.unique(np.quantile(column_values, np.linspace(0, 1, N_LEVELS), method="lower"))
        coarse[:, column] = levels[np.searchsorted(levels, column_values, side="right") - 1]
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


@compiled
def _sum_of_trees(values, roots, feature, left, right, value):
    total = np.zeros(len(values))
    for row in range(len(values)):
        for root in roots:
            node = root
            while feature[node] >= 0:
                node = left[node] if values[row, feature[node]] <= value[node] else right[node]
            total[row] += value[node]
    return total


# --- Probabilities and false discovery rates of epitope calls, by a two-groups model
#
# A sample is a mixture of receptors like the labelled ones and receptors like the background set. The score
# distributions of both groups are fixed: that of labelled receptors, with right and wrong calls, comes from
# cross-validation over studies; background receptors are assumed not to bind. Only the share of the two
# groups is estimated from the sample (Efron 2008, "Microarrays, empirical Bayes and the two-groups model",
# Statistical Science 23).

# Prior of the prevalence: 1 binder in 100 receptors, with the weight of 100 receptors.
PRIOR_BINDERS, PRIOR_RECEPTORS = 1.0, 100.0
PRIOR_CALLS = 10.0  # weight of the calls expected from the mixture against the observed calls
# Part of the background, and least number of receptors, beyond which its scores are taken as exponential.
TAIL, TAIL_RECEPTORS = 1e-3, 20


class Calibration:
    """
    Convert scores to the probability that a call is right and to false discovery rates.

    Parameters
    ----------
    labelled : ndarray, shape (n,)
        Scores of labelled receptors, each against references from other studies.
    right : ndarray of bool, shape (n,)
        Whether the best epitope is one of the receptor's epitopes.
    background : ndarray, shape (b,)
        Scores of background receptors, which are assumed not to bind.
    """

    def __init__(self, labelled: np.ndarray, right: np.ndarray, background: np.ndarray):
        order = np.argsort(labelled)
        self.labelled, self.right = np.asarray(labelled)[order], np.asarray(right, bool)[order]
        self.background = np.sort(background)
        # A pseudo-receptor of each group at the opposite extreme keeps the odds finite.
        both = np.concatenate([self.labelled, self.background])
        scores = np.concatenate([[both.min()], self.labelled, self.background, [both.max()]])
        is_labelled = np.arange(len(scores)) <= len(labelled)
        weights = np.where(is_labelled, 1 / (len(labelled) + 1), 1 / (len(background) + 1))
        self._is_binder = _isotonic(scores, is_labelled, weights)
        self._is_right = _isotonic(self.labelled, self.right) if len(labelled) else np.zeros_like

    def prevalence(self, scores: np.ndarray) -> float:
        """
        Estimate the share of receptors like the labelled ones, by expectation maximisation.

        The method is that of Saerens et al. (2002). A prior of 1 binder in 100 receptors stabilises the
        estimate for small samples.

        Parameters
        ----------
        scores : ndarray, shape (n,)
            Scores of all receptors of the sample.
        """
        at_even_odds = self._is_binder(scores) if len(scores) else np.empty(0)
        share = PRIOR_BINDERS / PRIOR_RECEPTORS
        for _ in range(500):
            last = share
            share = (_shifted(at_even_odds, last).sum() + PRIOR_BINDERS) / (len(scores) + PRIOR_RECEPTORS)
            if abs(share - last) < 1e-6:
                break
        return float(share)

    def probability(self, scores: np.ndarray, prevalence: float) -> np.ndarray:
        """Return the probability that the best epitope is right, shape (n,), at a prevalence of binders."""
        if not len(scores):
            return np.empty(0)
        return _shifted(self._is_binder(scores), prevalence) * self._is_right(scores)

    def background_share(self, thresholds: np.ndarray) -> np.ndarray:
        """
        Return the share of background receptors at or above each threshold, above 0; shape (n,).

        Above the highest `TAIL` of the scores, where single receptors would decide, the share falls
        exponentially, by the mean of what they exceed it by (Pickands 1975, Annals of Statistics 3) and one
        standard error of it: a share that is taken too small gives false calls.
        """
        share = _share_above(self.background, thresholds)
        n = len(self.background)
        n_tail = max(round(TAIL * n), TAIL_RECEPTORS)
        if n_tail > n // 10:
            return share
        limit = self.background[-n_tail - 1]
        excess = (self.background[-n_tail:] - limit).mean() * (1 + n_tail**-0.5)
        if excess == 0:
            return share
        fallen = np.exp(-np.maximum(thresholds - limit, 0) / excess)
        return np.where(thresholds > limit, (n_tail + 1) / (n + 1) * fallen, share)

    def fdr(self, scores: np.ndarray, prevalence: float) -> np.ndarray:
        """
        Return the false discovery rate of the calls at or above each receptor's score.

        Among n receptors, n (1 − prevalence) times the share of the background at or above the score
        (`background_share`) are expected background calls. Of the remaining calls, the share with a wrong
        epitope is that of the labelled receptors at or above the score. If a sample has few calls, their
        number is shrunk towards the number expected from the mixture. Each receptor gets the lowest rate of
        all thresholds that it passes.

        Parameters
        ----------
        scores : ndarray, shape (n,)
            Scores of all receptors of the sample, each receptor once.

        Returns
        -------
        ndarray, shape (n,)
            Rates from 0 to 1.
        """
        order = np.argsort(scores, kind="stable")
        ascending = np.asarray(scores)[order]
        n = len(scores)
        calls = n - np.searchsorted(ascending, ascending)
        background_calls = n * (1 - prevalence) * self.background_share(ascending)
        expected = background_calls + n * prevalence * _share_above(self.labelled, ascending)
        # Shrink the number of calls: a Poisson rate with a gamma prior whose mean is that of the mixture.
        calls = (calls + PRIOR_CALLS) / (1 + PRIOR_CALLS / expected)
        background_calls = np.minimum(background_calls, calls)
        wrong = _above(self.labelled[~self.right], ascending) + 1
        wrong = wrong / (_above(self.labelled, ascending) + 2)
        rates = np.empty(n)
        rates[order] = np.minimum.accumulate((background_calls + (calls - background_calls) * wrong) / calls)
        return rates


@dataclass(frozen=True)
class CalibrationScores:
    """
    What a calibration is fitted to, with the scores of all candidates.

    Attributes
    ----------
    labelled, background : Candidates
        Of labelled receptors against references from other studies, and of background receptors.
    binds : csr_array of float32, shape (n_labelled, n_epitopes)
        1 where a labelled receptor binds the epitope.
    """

    labelled: Candidates
    background: Candidates
    binds: sparse.csr_array

    def calibration(self, allowed: np.ndarray | None = None) -> Calibration:
        """
        Return the calibration for a donor who can present only the ``allowed`` epitopes.

        Labelled receptors of which the donor can present no epitope are left out: they are not what the
        donor's binders are like.
        """
        epitope, score = self.labelled.best(allowed)
        right = self.is_right(epitope)
        if allowed is not None:
            kept = (self.binds @ allowed.astype(np.float32)) > 0
            score, right = score[kept], right[kept]
        _, background = self.background.best(allowed)
        return Calibration(score, right, background[np.isfinite(background)])

    def is_right(self, epitope: np.ndarray) -> np.ndarray:
        """Return whether each labelled receptor binds the given epitope; False where it is -1."""
        return binds_epitope(self.binds, epitope)


def _share_above(sorted_scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the share at or above each threshold, with a pseudo-count of one so that no share is 0."""
    return (_above(sorted_scores, thresholds) + 1) / (len(sorted_scores) + 1)


def _above(sorted_scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    return len(sorted_scores) - np.searchsorted(sorted_scores, thresholds)


def _isotonic(
    scores: np.ndarray, values: np.ndarray, weights: np.ndarray | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the isotonic regression of values on scores, linear between the scores."""
    distinct, place = np.unique(scores, return_inverse=True)
    weights = np.ones(len(scores)) if weights is None else weights
    weight = np.bincount(place, weights)
    mean = np.bincount(place, weights * values) / weight
    fitted = scipy.optimize.isotonic_regression(mean, weights=weight).x
    return lambda new: np.interp(new, distinct, fitted)


def _shifted(at_even_odds: np.ndarray, prevalence: float) -> np.ndarray:
    """Convert probabilities at even prior odds to another prevalence."""
    binder, other = at_even_odds * prevalence, (1 - at_even_odds) * (1 - prevalence)
    return binder / (binder + other)


def cross_validated_probabilities(
    labelled: np.ndarray, right: np.ndarray, fold: np.ndarray, background: np.ndarray, prevalence: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return cross-validated probabilities of labelled and background receptors.

    Each receptor's probability comes from a calibration that was fitted without its fold.

    Parameters
    ----------
    labelled, right, fold : ndarray, shape (n,)
        Scores of labelled receptors, whether their calls are right, and their folds; at least two folds.
    background : ndarray, shape (b,)
        Scores; assigned in turn to the folds that labelled receptors have.
    prevalence : float
        Share of labelled receptors that the probabilities assume.

    Returns
    -------
    labelled, background : ndarray, shape (n,) and (b,)
        Probabilities, all finite.
    """
    present, fold = np.unique(fold, return_inverse=True)  # in a fold, no receptor may have a score
    background_fold = np.arange(len(background)) % len(present)
    probabilities = np.full(len(labelled), np.nan), np.full(len(background), np.nan)
    for held_out in range(len(present)):
        calibration = Calibration(
            labelled[fold != held_out], right[fold != held_out], background[background_fold != held_out]
        )
        for group, scores, folds in zip(
            probabilities, (labelled, background), (fold, background_fold), strict=True
        ):
            group[folds == held_out] = calibration.probability(scores[folds == held_out], prevalence)
    return probabilities


def brier_score(probabilities: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    """
    Return the weighted mean squared difference between probability and outcome (Brier 1950).

    Examples
    --------
    >>> round(brier_score(np.array([0.9, 0.2]), np.array([True, False]), np.ones(2)), 3)
    0.025
    """
    return float(np.average((probabilities - right) ** 2, weights=weights))
