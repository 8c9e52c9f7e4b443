"""Measures of `annotation_peers`, with intervals from a bootstrap over studies."""

from dataclasses import dataclass

import numpy as np

FDRS = (0.05, 0.1, 0.2)
PREVALENCE = 0.1
MEASURES = ("ap", "ap_all", *(f"recall_{100 * rate:.0f}" for rate in FDRS), "top_1")


@dataclass(frozen=True)
class Calls:
    """
    Best epitope of each labelled query and of each background receptor.

    Attributes
    ----------
    score : ndarray of float64, shape (n,)
        Score of each labelled query, greater is surer; −∞ without a call.
    right : ndarray of bool, shape (n,)
        Whether the query binds the epitope.
    reachable : ndarray of bool, shape (n,)
        Whether at least one epitope of the query has enough references in the other folds.
    study : ndarray of int64, shape (n,)
        Number of the query's study. A query of several studies, all of one fold, belongs to the first.
    background : ndarray of float64, shape (b,)
        Scores of background receptors. Every call of one is false.
    """

    score: np.ndarray
    right: np.ndarray
    reachable: np.ndarray
    study: np.ndarray
    background: np.ndarray

    @staticmethod
    def pooled(folds: "list[Calls]") -> "Calls":
        """Return the calls of all folds; scores of different folds are compared as they are."""
        return Calls(*(np.concatenate([getattr(f, name) for f in folds]) for name in Calls.__annotations__))


class Ranking:
    """
    Calls in the order of their scores, for measures under many weights of the queries.

    The mixture has a share ``prevalence`` of labelled queries, all of them, reachable or not; the rest is
    background. Each distinct score is a threshold. Without a call, a query or background receptor passes
    no threshold.
    """

    def __init__(self, calls: Calls, prevalence: float = PREVALENCE):
        self.calls, self.prevalence = calls, prevalence
        scores = np.concatenate([calls.score, calls.background])
        order = np.argsort(-scores, kind="stable")
        self.order = order[: np.isfinite(scores).sum()]
        ranked = scores[self.order]
        self.last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)])

    def measure(self, weight: np.ndarray | None = None) -> dict[str, float]:
        """
        Return `MEASURES` of the calls.

        ``ap`` is the average precision Σ (R(t) − R(t − 1)) P(t) over the thresholds t in descending order.
        P is the precision of the calls in the mixture. R is the recall: right calls, of the reachable
        queries. A right call of a query that is not reachable, possible for methods that call every
        epitope, counts neither as right nor as false. ``recall_5``, ``recall_10`` and ``recall_20`` are the
        highest recall of the thresholds with an observed false discovery rate, 1 − P, of at most 5, 10
        and 20 %. ``top_1`` is the share of reachable queries whose best epitope is right, at any score.

        ``ap_all`` is the average precision with all labelled queries as the positives: every right call
        counts, and the recall is that of all queries.

        Parameters
        ----------
        weight : ndarray, shape (n,), optional
            Weight of each labelled query; 1 if not given. All measures are NaN if no reachable query has any.
        """
        calls, n = self.calls, len(self.calls.score)
        weight = np.ones(n) if weight is None else np.asarray(weight, float)
        if not weight[calls.reachable].sum():
            return dict.fromkeys(MEASURES, float("nan"))
        share = self.prevalence * weight / weight.sum()
        positives = share[calls.reachable].sum()
        precision, recall = self._curve(share, calls.reachable)
        measures = {"ap": _average_precision(precision, recall, positives)}
        measures["ap_all"] = _average_precision(*self._curve(share, np.ones(n, bool)), share.sum())
        for rate in FDRS:
            passing = recall[precision >= 1 - rate - 1e-12]
            measures[f"recall_{100 * rate:.0f}"] = passing.max(initial=0) / positives
        is_top = calls.right & calls.reachable & np.isfinite(calls.score)
        measures["top_1"] = share[is_top].sum() / positives
        return {name: float(measures[name]) for name in MEASURES}

    def _curve(self, share: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the precision at each threshold, and the share of the mixture that is called right."""
        calls = self.calls
        false = np.full(len(calls.background), (1 - self.prevalence) / max(len(calls.background), 1))
        right = np.concatenate([share * (calls.right & counted), np.zeros(len(false))])
        calls_share = np.concatenate([share * ~(calls.right & ~counted), false])
        right, calls_share = (np.cumsum(values[self.order])[self.last] for values in (right, calls_share))
        return np.divide(right, calls_share, out=np.zeros(len(right)), where=calls_share > 0), right


def _average_precision(precision: np.ndarray, right: np.ndarray, positives: float) -> float:
    return (np.diff(right, prepend=0) * precision).sum() / positives


def bootstrap(calls: Calls, draws: int, seed: int = 420) -> np.ndarray:
    """
    Return `MEASURES` of resampled studies, shape (draws, n_measures).

    Studies with queries are drawn with replacement, as many as there are; a query counts as often as its
    study is drawn. The background stays. Equal studies and seed give the same draws, so that methods can be
    compared draw by draw.
    """
    rng, ranking = np.random.default_rng(seed), Ranking(calls)
    studies, number = np.unique(calls.study, return_inverse=True)
    rows = []
    for _ in range(draws):
        times = np.bincount(rng.integers(len(studies), size=len(studies)), minlength=len(studies))
        rows.append(list(ranking.measure(times[number]).values()))
    return np.array(rows)


def interval(draws: np.ndarray) -> np.ndarray:
    """Return the 2.5 and 97.5 % quantiles of each column, shape (2, n_columns)."""
    return np.nanquantile(draws, [0.025, 0.975], axis=0)
