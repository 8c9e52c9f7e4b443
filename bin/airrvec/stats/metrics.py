"""
Metrics of rankings of positives and negatives: AUROC, AUC0.1 and average precision.

Many rankings are evaluated at once; one sort of each gives all metrics. Lower scores rank first. Ties
share a threshold, as in scikit-learn.
"""

from dataclasses import dataclass

from airrvec.core.schema import METRICS

import numpy as np

MAX_FPR = 0.1
FPR_GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class Ranking:
    """
    S rankings of n receptors by score.

    Attributes
    ----------
    order : ndarray of int, shape (S, n)
        Columns of the scores, lowest score first.
    ends_tie : ndarray of bool, shape (S, n)
        Whether the next score differs; true at the end of a ranking.
    """

    order: np.ndarray
    ends_tie: np.ndarray

    @classmethod
    def from_scores(cls, scores: np.ndarray) -> "Ranking":
        """Rank scores, shape (S, n)."""
        order = np.argsort(scores, axis=1)
        ranked = np.take_along_axis(scores, order, axis=1)
        ends_tie = np.ones(scores.shape, bool)
        np.not_equal(ranked[:, 1:], ranked[:, :-1], out=ends_tie[:, :-1])
        return cls(order, ends_tie)


class Curves:
    """
    Numbers of positives and negatives up to each threshold; S rankings, concatenated.

    Parameters
    ----------
    ranking : Ranking
        S rankings of n receptors.
    positive : ndarray of bool, shape (n,)
        Whether a receptor is positive.
    tested : ndarray of bool, shape (S, n)
        Whether a receptor is tested.

    Attributes
    ----------
    n_positive, n_negative : ndarray of int64, shape (S,)
        Numbers of tested positives and negatives.
    """

    def __init__(self, ranking: Ranking, positive: np.ndarray, tested: np.ndarray):
        ranked_tested = np.take_along_axis(tested, ranking.order, axis=1)
        ranked_positive = positive[ranking.order] & ranked_tested
        self._true = np.cumsum(ranked_positive, axis=1, dtype=np.int32)[ranking.ends_tie].astype(np.int64)
        self._false = np.cumsum(ranked_tested, axis=1, dtype=np.int32)[ranking.ends_tie] - self._true
        self._lengths = ranking.ends_tie.sum(axis=1)
        self._starts = np.cumsum(self._lengths) - self._lengths
        last = self._starts + self._lengths - 1
        self.n_positive, self.n_negative = self._true[last], self._false[last]

    def metrics(self) -> dict[str, np.ndarray]:
        """
        Return each of `METRICS`, shape (S,); NaN for a ranking without positives or without negatives.

        ``auroc`` is the area under the ROC curve. ``auroc_01`` is the area up to a false-positive rate
        of 0.1, standardised so that chance is 0.5 (McClish 1989; scikit-learn's ``roc_auc_score`` with
        ``max_fpr=0.1``). ``average_precision`` is the sum over thresholds of precision times gain in
        recall (scikit-learn's ``average_precision_score``).
        """
        true, false = self._true, self._false
        true_before, false_before = (self._before(counts) for counts in (true, false))
        trapezia = np.add.reduceat((false - false_before) * (true + true_before), self._starts)
        precision = true / np.maximum(true + false, 1)
        gains = np.add.reduceat((true - true_before) * precision, self._starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            measured = (
                trapezia / (2 * self.n_positive * self.n_negative),
                self._standardised_area(true_before, false_before),
                np.where(self.n_negative > 0, gains / self.n_positive, np.nan),
            )
        return dict(zip(METRICS, measured, strict=True))

    def roc(self) -> np.ndarray:
        """Return the true-positive rate at `FPR_GRID`, linear between thresholds; shape (S, 201)."""
        rates = np.empty((len(self._starts), len(FPR_GRID)))
        for number, (start, length) in enumerate(zip(self._starts, self._lengths, strict=True)):
            points = slice(start, start + length)
            fpr = self._false[points] / self.n_negative[number]
            tpr = self._true[points] / self.n_positive[number]
            # At equal false-positive rates, interp takes the last true-positive rate, the highest.
            rates[number] = np.interp(FPR_GRID, np.append(0, fpr), np.append(0, tpr))
        return rates

    def _before(self, counts: np.ndarray) -> np.ndarray:
        before = np.empty_like(counts)
        before[1:] = counts[:-1]
        before[self._starts] = 0
        return before

    def _standardised_area(self, true_before: np.ndarray, false_before: np.ndarray) -> np.ndarray:
        limit = np.repeat(MAX_FPR * self.n_negative, self._lengths)  # in false positives
        width = np.minimum(self._false, limit) - np.minimum(false_before, limit)
        step = np.maximum(self._false - false_before, 1)
        height = true_before + (self._true - true_before) * width / step
        doubled = np.add.reduceat(width * (true_before + height), self._starts)
        area = doubled / (2 * self.n_positive * self.n_negative)
        least = MAX_FPR**2 / 2
        return (1 + (area - least) / (MAX_FPR - least)) / 2


def auroc(positives: np.ndarray, negatives: np.ndarray) -> float:
    """
    Return the probability that a positive is nearer than a negative; ties count half.

    Parameters
    ----------
    positives, negatives : ndarray, shapes (n_positives,) and (n_negatives,)
        Distances of the positives and of the negatives.

    Examples
    --------
    >>> round(auroc(np.array([0.1, 0.2]), np.array([0.15, 0.3, 0.4])), 3)
    0.833
    """
    scores = np.concatenate([positives, negatives])[None]
    positive = np.arange(scores.size) < len(positives)
    return float(
        Curves(Ranking.from_scores(scores), positive, np.ones(scores.shape, bool)).metrics()["auroc"][0]
    )
