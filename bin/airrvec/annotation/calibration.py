"""
Probabilities and false discovery rates of annotation: a mixture of two groups of receptors.

A share of a sample's receptors is like the labelled ones, the others are like the background. The scores
of both are known: those of labelled receptors, whose calls are right or wrong, by cross-validation over
studies, those of the background because none of it is taken to bind anything. Only the share is the
sample's own (Efron 2008, "Microarrays, empirical Bayes and the two-groups model", Statistical Science 23).
"""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.isotonic import IsotonicRegression

from airrvec.annotation.reference_set import Reference
from airrvec.annotation.search import MIN_REFERENCES, search
from airrvec.benchmark.rules import KERNEL
from airrvec.core.seeds import generator

N_FOLDS = 5

# What is taken for granted of a sample, with the weight of 100 receptors: that one binds.
PRIOR_BINDERS, PRIOR_RECEPTORS = 1.0, 100.0
PRIOR_CALLS = 10.0  # weight of the mixture against the calls that a sample has


def study_folds(reference: Reference, *, seed: int) -> tuple[np.ndarray, bool]:
    """
    Studies put together into folds of about as many receptors: the largest first, each into the smallest.

    Where there is one study alone, its receptors are divided at random.

    Returns
    -------
    folds : ndarray of bool, shape (n_receptors, N_FOLDS)
        Whether a study of the fold reports the receptor.
    by_study : bool
        False where they are divided at random.
    """
    if len(reference.study_names) < 2:
        fold = generator(seed, "folds").permutation(len(reference)) % N_FOLDS
        return fold[:, None] == np.arange(N_FOLDS), False
    sizes = np.asarray(reference.studies.sum(axis=0)).ravel()
    filled, fold_of = np.zeros(N_FOLDS), np.zeros(len(sizes), np.int64)
    for study in np.argsort(-sizes, kind="stable"):
        fold_of[study] = filled.argmin()
        filled[fold_of[study]] += sizes[study]
    members = sparse.csr_array(fold_of[:, None] == np.arange(N_FOLDS), dtype=np.float32)
    return (reference.studies @ members).toarray() > 0, True


def cross_validate(
    reference: Reference,
    vectors: np.ndarray,
    background: np.ndarray,
    *,
    min_references: int = MIN_REFERENCES,
    seed: int = 420,
    kernel: float = KERNEL,
    threads: int = 1,
) -> pd.DataFrame:
    """
    Each labelled receptor as a query, against the references of other studies.

    The studies are divided into `study_folds`. A receptor of a fold is compared with the receptors that
    no study of this fold reports. Receptors of several folds are no queries, as their other studies
    would be references.

    Returns
    -------
    DataFrame
        One row a query: ``row`` of the reference, ``fold``, ``epitope`` (row of the epitopes), ``score``,
        ``right`` (it binds the epitope), ``findable`` (an epitope of its is a candidate in the fold).
    """
    folds, _ = study_folds(reference, seed=seed)
    alone = folds.sum(axis=1) == 1
    parts = [_NO_QUERIES]
    for fold in range(N_FOLDS):
        asking, others = np.flatnonzero(folds[:, fold] & alone), np.flatnonzero(~folds[:, fold])
        if not len(asking) or not len(others):
            continue
        known = reference.take(others)
        found = search(
            vectors[asking],
            known,
            vectors[others],
            background,
            min_references=min_references,
            kernel=kernel,
            threads=threads,
        )
        binds = reference.labels[asking].toarray() > 0
        candidates = binds & (known.epitopes["n_references"] >= min_references).to_numpy()
        columns = {
            "row": asking,
            "fold": fold,
            "epitope": found.epitope,
            "score": found.score,
            "right": candidates[np.arange(len(asking)), found.epitope],
            "findable": candidates.any(axis=1),
        }
        parts.append(pd.DataFrame(columns).dropna(subset="score"))
    return pd.concat(parts, ignore_index=True).astype(_NO_QUERIES.dtypes)


_NO_QUERIES = pd.DataFrame(
    {
        "row": np.empty(0, np.int64),
        "fold": np.empty(0, np.int64),
        "epitope": np.empty(0, np.int64),
        "score": np.empty(0),
        "right": np.empty(0, bool),
        "findable": np.empty(0, bool),
    }
)


class Calibration:
    """
    Scores → probability that a call is right, and expected share of false ones among calls.

    Parameters
    ----------
    labelled : ndarray, shape (n,)
        Scores of labelled receptors, each against references of other studies.
    right : ndarray of bool, shape (n,)
        Whether the best epitope was one of theirs.
    background : ndarray, shape (b,)
        Scores of background receptors, of which none is taken to bind.
    """

    def __init__(self, labelled: np.ndarray, right: np.ndarray, background: np.ndarray):
        order = np.argsort(labelled)
        self.labelled, self.right = np.asarray(labelled)[order], np.asarray(right, bool)[order]
        self.background = np.sort(background)
        # One more receptor of each group at the other's end keeps the odds finite.
        both = np.concatenate([self.labelled, self.background])
        scores = np.concatenate([[both.min()], self.labelled, self.background, [both.max()]])
        is_labelled = np.arange(len(scores)) <= len(labelled)
        weights = np.where(is_labelled, 1 / (len(labelled) + 1), 1 / (len(background) + 1))
        self._is_binder = _fitted(scores, is_labelled, weights)
        self._is_right = _fitted(self.labelled, self.right)

    def prevalence(self, scores: np.ndarray) -> float:
        """
        Share of receptors like the labelled ones, by expectation maximisation (Saerens et al. 2002).

        Parameters
        ----------
        scores : ndarray, shape (n,)
            Of all receptors of a sample. Few are held together by a prior of one binder in a hundred.
        """
        even = self._is_binder.predict(scores) if len(scores) else np.empty(0)
        share = PRIOR_BINDERS / PRIOR_RECEPTORS
        for _ in range(500):
            last = share
            share = (_shifted(even, last).sum() + PRIOR_BINDERS) / (len(scores) + PRIOR_RECEPTORS)
            if abs(share - last) < 1e-6:
                break
        return float(share)

    def probability(self, scores: np.ndarray, prevalence: float) -> np.ndarray:
        """Probability that the best epitope is right, shape (n,), for a share of binders."""
        if not len(scores):
            return np.empty(0)
        return _shifted(self._is_binder.predict(scores), prevalence) * self._is_right.predict(scores)

    def fdr(self, scores: np.ndarray, prevalence: float) -> np.ndarray:
        """
        Expected share of false calls among the calls with at least a receptor's score.

        Of n receptors, n (1 − prevalence) times the share of the background at or above the score are
        expected to be background; of the calls beyond these, as many are of a wrong epitope as among
        labelled receptors at or above the score. Where a sample has few calls, their number is drawn
        towards that of the mixture. A receptor has the least rate of all thresholds that it passes.

        Parameters
        ----------
        scores : ndarray, shape (n,)
            Of all receptors of the sample, each once.

        Returns
        -------
        ndarray, shape (n,)
            0 to 1.
        """
        order = np.argsort(scores, kind="stable")
        ascending = np.asarray(scores)[order]
        n = len(scores)
        calls = n - np.searchsorted(ascending, ascending)
        by_chance = n * (1 - prevalence) * _share_above(self.background, ascending)
        expected = by_chance + n * prevalence * _share_above(self.labelled, ascending)
        # Few calls say little of how many there are: as gamma-distributed rates, with the mixture as prior.
        calls = (calls + PRIOR_CALLS) / (1 + PRIOR_CALLS / expected)
        by_chance = np.minimum(by_chance, calls)
        wrong = _above(self.labelled[~self.right], ascending) + 1
        wrong = wrong / (_above(self.labelled, ascending) + 2)
        rates = np.empty(n)
        rates[order] = np.minimum.accumulate((by_chance + (calls - by_chance) * wrong) / calls)
        return rates


def _share_above(sorted_scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Share at or above a threshold, with one more receptor there, as what has not been seen may occur."""
    return (_above(sorted_scores, thresholds) + 1) / (len(sorted_scores) + 1)


def _above(sorted_scores: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    return len(sorted_scores) - np.searchsorted(sorted_scores, thresholds)


def _fitted(scores: np.ndarray, values: np.ndarray, weights: np.ndarray | None = None) -> IsotonicRegression:
    model = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    return model.fit(scores, values.astype(float), sample_weight=weights)


def _shifted(even: np.ndarray, prevalence: float) -> np.ndarray:
    """Probabilities at even odds → at another prevalence."""
    binder, other = even * prevalence, (1 - even) * (1 - prevalence)
    return binder / (binder + other)


def cross_fitted(
    labelled: np.ndarray, right: np.ndarray, fold: np.ndarray, background: np.ndarray, prevalence: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Probabilities of labelled and background receptors by calibrations that have not seen them.

    Parameters
    ----------
    labelled, right, fold : ndarray, shape (n,)
        Scores, whether right, and fold of the studies of labelled receptors; two folds at least.
    background : ndarray, shape (b,)
        Scores; they are divided by their place into the folds that labelled receptors have.
    prevalence : float
        Share of labelled receptors that the probabilities are for.

    Returns
    -------
    labelled, background : ndarray, shape (n,) and (b,)
        Probabilities, all finite.
    """
    present, fold = np.unique(fold, return_inverse=True)  # a fold's receptors may all be without a score
    of_background = np.arange(len(background)) % len(present)
    probabilities = np.full(len(labelled), np.nan), np.full(len(background), np.nan)
    for held_out in range(len(present)):
        calibration = Calibration(
            labelled[fold != held_out], right[fold != held_out], background[of_background != held_out]
        )
        for of_group, scores, folds in zip(
            probabilities, (labelled, background), (fold, of_background), strict=True
        ):
            of_group[folds == held_out] = calibration.probability(scores[folds == held_out], prevalence)
    return probabilities


def brier(probabilities: np.ndarray, right: np.ndarray, weights: np.ndarray) -> float:
    """Mean squared difference of probability and outcome (Brier 1950)."""
    return float(np.average((probabilities - right) ** 2, weights=weights))
