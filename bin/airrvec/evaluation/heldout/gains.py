"""
Differences of AUROC between two models on the test receptors of a split, with intervals over studies.

Scores of test receptors, shape (n_epitopes, n_test), are in the order of `Split.epitopes` and
``Split.rows("test")``; lower is nearer. Lists of scores have one item for each seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from airrvec.core.seeds import numbered_generator
from airrvec.evaluation.heldout.splits import Split
from airrvec.stats import metrics

import numpy as np


@dataclass(frozen=True, eq=False)
class Tests:
    """
    Test receptors of a split.

    Attributes
    ----------
    epitopes : list of str
    positives, negatives : list of ndarray
        Of each epitope, places in the scores. A receptor that also binds the epitope is no negative.
    studies : ndarray of int, shape (n_test,)
        Number of each receptor's study, the first in alphabetical order.
    names : list of str
        Names of the studies.
    """

    epitopes: list[str]
    positives: list[np.ndarray]
    negatives: list[np.ndarray]
    studies: np.ndarray
    names: list[str]


@dataclass(frozen=True)
class Gain:
    """
    AUROCs of each epitope before and after, means over seeds, and intervals of the mean difference.

    Attributes
    ----------
    before, after : ndarray, shape (n_epitopes,)
    studies, epitopes : tuple of float
        2.5 and 97.5 percentiles over resampled studies and receptors, and over resampled epitopes.
    """

    before: np.ndarray
    after: np.ndarray
    studies: tuple[float, float]
    epitopes: tuple[float, float]

    def row(self) -> dict[str, float | int]:
        """Return the means, their difference, its intervals, and the number of epitopes that gain."""
        difference = self.after - self.before
        return {
            "before": float(self.before.mean()),
            "after": float(self.after.mean()),
            "difference": float(difference.mean()),
            "low": self.studies[0],
            "high": self.studies[1],
            "low_epitopes": self.epitopes[0],
            "high_epitopes": self.epitopes[1],
            "better": int((difference > 0).sum()),
            "epitopes": len(difference),
        }


def _reports(split: Split) -> dict[tuple[int, str], set[str]]:
    """Return the studies that report each test row and epitope."""
    ids = split.labelled.receptors["receptor_id"].to_pylist()
    row = {name: number for number, name in enumerate(ids)}
    tested = {(number, epitope) for epitope, rows in split.test.items() for number in rows.tolist()}
    reports: dict[tuple[int, str], set[str]] = {}
    for source in split.labelled.sources.to_pylist():
        key = (row[source["receptor_id"]], source["epitope"])
        if key in tested and source["reference_id"]:
            reports.setdefault(key, set()).add(source["reference_id"])
    return reports


def test_studies(split: Split) -> set[str]:
    """Return the studies that report test receptors."""
    return set().union(*_reports(split).values())


def tests(split: Split) -> Tests:
    """Return the test receptors of a split; one that no study reports is a study of its own."""
    test = split.rows("test")
    studies: dict[int, set[str]] = {}
    for (row, _), reported in _reports(split).items():
        studies.setdefault(row, set()).update(reported)
    study = [min(studies.get(row, {f"receptor {row}"})) for row in test.tolist()]
    names, numbers = np.unique(study, return_inverse=True)
    negatives = [np.setdiff1d(test, split.labelled.epitopes[epitope]) for epitope in split.epitopes]
    return Tests(
        split.epitopes,
        [np.searchsorted(test, split.test[epitope]) for epitope in split.epitopes],
        [np.searchsorted(test, rows) for rows in negatives],
        numbers,
        names.tolist(),
    )


def resample(tests: Tests, n: int, seed: int = 0) -> np.ndarray:
    """
    Return weights of the test receptors in n resamples of studies, and of each study's receptors.

    Returns
    -------
    ndarray of float32, shape (n, n_test)
        How often a receptor is drawn.
    """
    rng = numbered_generator(seed)
    n_studies = len(tests.names)
    drawn = rng.multinomial(n_studies, np.full(n_studies, 1 / n_studies), size=n)  # (n, n_studies)
    weights = np.zeros((n, len(tests.studies)), np.float32)
    for study in range(n_studies):
        members = np.flatnonzero(tests.studies == study)
        shares = np.full(len(members), 1 / len(members))
        weights[:, members] = rng.multinomial(drawn[:, study] * len(members), shares)
    return weights


def gain(
    before: Sequence[np.ndarray], after: Sequence[np.ndarray], tests: Tests, weights: np.ndarray
) -> Gain:
    """
    Return the AUROCs of two models and the intervals of their mean difference.

    Parameters
    ----------
    before, after : list of ndarray, shape (n_epitopes, n_test)
        Scores of each seed.
    tests : Tests
    weights : ndarray, shape (n, n_test)
        From `resample`. An epitope without a positive or a negative in a resample is left out of it.
    """
    values = np.stack([[aurocs(scores, tests) for scores in model] for model in (before, after)])
    with np.errstate(invalid="ignore"):
        resampled = np.stack(
            [
                _resampled_difference(before, after, number, tests, weights)
                for number in range(len(tests.epitopes))
            ]
        )  # (n_epitopes, n)
    means = np.nanmean(resampled[:, ~np.isnan(resampled).all(axis=0)], axis=0)
    before_mean, after_mean = values.mean(axis=1)
    drawn = numbered_generator(0).integers(len(before_mean), size=(len(weights), len(before_mean)))
    epitope_means = (after_mean - before_mean)[drawn].mean(axis=1)
    return Gain(before_mean, after_mean, _interval(means), _interval(epitope_means))


def aurocs(scores: np.ndarray, tests: Tests) -> np.ndarray:
    """Return the AUROC of each epitope, shape (n_epitopes,)."""
    pairs = zip(scores, tests.positives, tests.negatives, strict=True)
    return np.array([metrics.auroc(row[positives], row[negatives]) for row, positives, negatives in pairs])


def _resampled_difference(before, after, number: int, tests: Tests, weights: np.ndarray) -> np.ndarray:
    """Return the difference of an epitope's AUROC in each resample, shape (n,), the mean over seeds."""
    positives, negatives = tests.positives[number], tests.negatives[number]
    pairs = np.zeros((len(positives), len(negatives)), np.float32)
    for sign, model in ((-1, before), (1, after)):
        for scores in model:
            near, far = scores[number, positives][:, None], scores[number, negatives]
            pairs += sign * ((near < far) + 0.5 * (near == far)) / len(model)
    near_weights, far_weights = weights[:, positives], weights[:, negatives]
    total = near_weights.sum(axis=1) * far_weights.sum(axis=1)
    return ((near_weights @ pairs) * far_weights).sum(axis=1) / np.where(total > 0, total, np.nan)


def _interval(values: np.ndarray) -> tuple[float, float]:
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def sums(*parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return, for each seed, the sum of several models' standardised scores."""
    return [np.sum([standardised(scores) for scores in seed], axis=0) for seed in zip(*parts, strict=True)]


def standardised(scores: np.ndarray) -> np.ndarray:
    """Return scores with mean 0 and standard deviation 1 over the test receptors, for each epitope."""
    spread = scores.std(axis=1, keepdims=True)
    return (scores - scores.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
