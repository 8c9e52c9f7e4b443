"""The score of evidence: trees beside scikit-learn's, monotony, and what each evidence adds."""

from airrvec.annotation import scorer
from airrvec.annotation.evidence import Candidates, Evidence

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier

N_NAMES = 6


def pairs(seed: int, n: int = 4000):
    rng = np.random.default_rng(seed)
    measures = rng.normal(-8, 5, (n, N_NAMES))
    right = rng.random(n) < 1 / (1 + np.exp(-(measures[:, 0] + measures[:, 3] + 14)))
    return measures, right, rng.random(n) + 0.1


def log_odds(measures: np.ndarray) -> np.ndarray:
    share = np.exp(np.minimum(measures[:, :2], -1e-6))
    return np.log(share / (1 - share))


@pytest.fixture(scope="module")
def fitted():
    return scorer.fit(*pairs(1), threshold=-5.0, typical=np.full(N_NAMES, -10.0))


def test_values_are_rounded_down_to_quantiles():
    measures, _, _ = pairs(1)
    coarse = scorer.coarse(measures)
    assert (coarse <= measures).all()
    for column, given in zip(coarse.T, measures.T, strict=True):
        assert len(np.unique(column)) == scorer.N_LEVELS
        assert np.isin(column, given).all()
        # as many as a quantile's share, and no more
        assert np.unique(column, return_counts=True)[1].max() <= len(given) / (scorer.N_LEVELS - 1) + 1
    few = np.repeat([[-3.0], [0.0]], 5, axis=0)
    np.testing.assert_array_equal(scorer.coarse(few), few)


def test_the_trees_are_those_of_scikit_learn(fitted):
    measures, right, weight = pairs(1)
    options = {"monotonic_cst": [1] * N_NAMES, "early_stopping": False, "random_state": 0}
    oracle = HistGradientBoostingClassifier(**scorer.TREES, **options)
    oracle.fit(scorer.coarse(measures), right, sample_weight=weight / weight.mean())
    new = np.concatenate([pairs(2)[0], measures[:100], np.full((1, N_NAMES), -40.0)])
    linear = scorer.LINEAR * log_odds(new).sum(axis=1)
    np.testing.assert_allclose(fitted.score(new) - linear, oracle.decision_function(new), atol=1e-10)


def test_more_evidence_never_lowers_the_score(fitted):
    measures, _, _ = pairs(3)
    before = fitted.score(measures)
    for column in range(N_NAMES):
        more = measures.copy()
        more[:, column] += np.random.default_rng(column).exponential(4, len(more))
        assert (fitted.score(more) >= before - 1e-12).all()


def test_the_evidence_that_decides_has_the_weight(fitted):
    measures, _, _ = pairs(4)
    weights = fitted.weights_of_evidence(measures)
    assert weights.shape == measures.shape
    assert (weights >= -1e-12).all()
    mean = weights.mean(axis=0)
    assert mean[[0, 3]].min() > 3 * mean[[2, 4, 5]].max()
    as_usual = np.full((1, N_NAMES), -10.0)
    np.testing.assert_allclose(fitted.weights_of_evidence(as_usual), 0, atol=1e-12)


def test_without_training_the_score_is_in_proportion_to_both_shares():
    plain = scorer.untrained(-5.0, np.full(N_NAMES, -10.0))
    measures, _, _ = pairs(5)
    assert not plain.is_trained
    np.testing.assert_allclose(plain.score(measures), scorer.LINEAR * log_odds(measures).sum(axis=1))


def test_candidates_without_a_second_look_are_below_all_others(fitted):
    first = Candidates(sparse.csr_array(np.array([[-1.0, -2, 0], [-30, 0, -20]])), np.array([-40.0, -41]))
    evidence = Evidence(np.array([0, 0]), np.array([1, 2]), pairs(6, 2)[0], first)
    found = fitted.candidates(evidence).scores.toarray()
    np.testing.assert_allclose(found[0, 1:], fitted.score(evidence.measures))
    low = scorer.NOT_RESCORED
    np.testing.assert_allclose([found[0, 0], *found[1]], [low - 1, low - 30, 0, low - 20])
    assert found[0, 1:].min() > found[0, 0]
    np.testing.assert_allclose(fitted.candidates(evidence).floor, first.floor + low)
