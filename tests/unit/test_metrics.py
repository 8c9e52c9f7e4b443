"""Metrics of rankings, against scikit-learn."""

from airrvec.stats.metrics import FPR_GRID, Curves, Ranking, auroc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

distances = st.lists(st.integers(0, 12), min_size=1, max_size=40).map(lambda values: np.array(values, float))


def truth_and_scores(positives, negatives):
    return np.repeat([1, 0], [len(positives), len(negatives)]), -np.concatenate([positives, negatives])


def oracle(truth, scores):
    return {
        "auroc": roc_auc_score(truth, scores),
        "auroc_01": roc_auc_score(truth, scores, max_fpr=0.1),
        "average_precision": average_precision_score(truth, scores),
    }


@given(positives=distances, negatives=distances)
def test_auroc_is_scikit_learns_also_with_ties(positives, negatives):
    expected = roc_auc_score(*truth_and_scores(positives, negatives))
    assert auroc(positives, negatives) == pytest.approx(expected, abs=1e-12)


@given(
    scores=st.lists(
        st.lists(st.one_of(st.integers(0, 5).map(float), st.floats(0, 5)), min_size=24, max_size=24),
        min_size=1,
        max_size=4,
    ),
    tested=st.lists(st.booleans(), min_size=24, max_size=24),
)
def test_metrics_of_many_rankings_are_scikit_learns(scores, tested):
    scores = np.array(scores)
    positive = np.arange(24) % 3 == 0
    # Another receptor each is left out of each ranking.
    tested = np.array(tested) & (np.arange(24) != np.arange(len(scores))[:, None])
    tested[:, [21, 22]] = True
    curves = Curves(Ranking.from_scores(scores), positive, tested)
    measured = curves.metrics()
    for number, (row, kept) in enumerate(zip(scores, tested, strict=True)):
        for name, value in oracle(positive[kept], -row[kept]).items():
            assert measured[name][number] == pytest.approx(value, abs=1e-12)
        assert curves.n_positive[number] == positive[kept].sum()
        assert curves.n_negative[number] == (~positive[kept]).sum()


def test_metrics_of_a_large_ranking_are_scikit_learns():
    rng = np.random.default_rng(0)
    positives, negatives = rng.random(500), rng.random(7000) + 0.1
    truth, scores = truth_and_scores(positives, negatives)
    measured = Curves(
        Ranking.from_scores(-scores[None]), truth.astype(bool), np.ones((1, 7500), bool)
    ).metrics()
    for name, value in oracle(truth, scores).items():
        assert measured[name][0] == pytest.approx(value, abs=1e-12)


def test_without_positives_or_negatives_there_is_no_metric():
    ranking = Ranking.from_scores(np.array([[0.0, 1.0], [0.0, 1.0]]))
    curves = Curves(ranking, np.array([True, False]), np.array([[True, False], [False, True]]))
    for values in curves.metrics().values():
        assert np.isnan(values).all()


@given(positives=distances, negatives=distances)
def test_roc_is_scikit_learns(positives, negatives):
    truth, scores = truth_and_scores(positives, negatives)
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    (curve,) = Curves(
        Ranking.from_scores(-scores[None]), truth.astype(bool), np.ones((1, len(truth)), bool)
    ).roc()
    # Where the curve rises any height is right at that false-positive rate; elsewhere there is one.
    single = ~np.isclose(FPR_GRID[:, None], fpr).any(axis=1)
    np.testing.assert_allclose(curve[single], np.interp(FPR_GRID, fpr, tpr)[single], atol=1e-12)
    assert curve[-1] == 1
