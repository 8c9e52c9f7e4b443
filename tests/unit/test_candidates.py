"""Scores of all candidate epitopes: the best one with and without exclusions, and their calibration."""

from airrvec.annotation.evidence import Candidates, binds_epitope, no_candidates, stacked
from airrvec.annotation.scorer import Calibration, CalibrationScores

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

FLOOR = -40.0


def candidates(table) -> Candidates:
    """Candidates of a table of scores, receptor × epitope, in which 0 is no candidate."""
    return Candidates(sparse.csr_array(np.asarray(table, float)), np.full(len(table), FLOOR))


def test_the_best_epitope_is_the_one_with_the_highest_allowed_score():
    found = candidates([[-1, -2, 0], [0, 0, 0], [-3, -3, -1]])
    epitope, score = found.best()
    assert epitope.tolist() == [0, -1, 2]
    assert score.tolist() == [-1, FLOOR, -1]
    epitope, score = found.best(np.array([False, True, False]))
    assert epitope.tolist() == [1, -1, 1]
    assert score.tolist() == [-2, FLOOR, -3]
    epitope, score = found.best(np.zeros(3, bool))
    assert epitope.tolist() == [-1] * 3
    assert score.tolist() == [FLOOR] * 3


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 12), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_the_best_epitope_is_that_of_a_dense_table(n, n_epitopes, seed):
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((n, n_epitopes)) < 0.5, -rng.integers(1, 4, (n, n_epitopes)), 0)
    allowed = rng.random(n_epitopes) < 0.6
    found = candidates(table.reshape(n, n_epitopes))
    dense = np.where((table != 0) & allowed, table, -np.inf)
    epitope, score = found.best(allowed)
    has_one = np.isfinite(dense).any(axis=1)
    np.testing.assert_array_equal(epitope, np.where(has_one, dense.argmax(axis=1), -1))
    np.testing.assert_array_equal(score, np.where(has_one, dense.max(axis=1), FLOOR))
    halves = stacked([found.take(np.arange(n // 2)), found.take(np.arange(n // 2, n))])
    np.testing.assert_array_equal(halves.best(allowed), found.best(allowed))


def test_no_epitope_is_never_right():
    binds = sparse.csr_array(np.array([[1, 0], [1, 1], [0, 1]], np.float32))
    assert binds_epitope(binds, np.array([0, -1, 0])).tolist() == [True, False, False]
    assert binds_epitope(no_candidates(2).scores, np.empty(0, np.int64)).tolist() == []


def two_epitopes(seed: int, n: int):
    """Scores of binders of two epitopes, of which the second is found less well, and of background."""
    rng = np.random.default_rng(seed)
    epitope = np.arange(n) % 2
    table = rng.normal(-12, 2, (n, 2))
    table[np.arange(n), epitope] += np.where(epitope == 0, 10, 6)
    background = rng.normal(-12, 2, (20 * n, 2))
    background[:, 1] += 1.5  # background receptors that are like the second epitope's
    return candidates(table), candidates(background), epitope


@pytest.mark.parametrize("left", [0, 1])
def test_rates_are_estimated_for_the_epitopes_that_remain(left):
    """Those of a donor are right if they are fitted to what is left, and wrong if they are not."""
    labelled, background, epitope = two_epitopes(1, 4000)
    binds = sparse.csr_array((epitope[:, None] == np.arange(2)).astype(np.float32))
    scores = CalibrationScores(labelled, background, binds)
    allowed = np.arange(2) == left
    fitted = scores.calibration(allowed)
    of_left = epitope == left
    np.testing.assert_array_equal(fitted.labelled, np.sort(labelled.best(allowed)[1][of_left]))
    assert fitted.right.all()
    # A sample of such a donor: binders of the epitope that is left, and background.
    new, others, of = two_epitopes(2, 4000)
    new = new.take(np.flatnonzero(of == left))
    epitopes, sample = stacked([new, others.take(np.arange(18_000))]).best(allowed)
    truth = np.arange(len(sample)) < len(new)
    assert set(epitopes) == {left}
    observed = []
    for calibration in (fitted, scores.calibration()):
        rates = calibration.fdr(sample, calibration.prevalence(sample))
        called = rates <= 0.2
        observed.append((~truth[called]).mean() if called.any() else np.nan)
    assert observed[0] == pytest.approx(0.2, rel=0.2)
    assert not abs(observed[1] - 0.2) < abs(observed[0] - 0.2)


def test_without_exclusions_the_calibration_is_that_of_the_best_scores():
    labelled, background, epitope = two_epitopes(3, 300)
    binds = sparse.csr_array((epitope[:, None] == np.arange(2)).astype(np.float32))
    scores = CalibrationScores(labelled, background, binds)
    best, score = labelled.best()
    expected = Calibration(score, best == epitope, background.best()[1])
    for allowed in (None, np.ones(2, bool)):
        found = scores.calibration(allowed)
        np.testing.assert_array_equal(found.labelled, expected.labelled)
        np.testing.assert_array_equal(found.right, expected.right)
        np.testing.assert_array_equal(found.background, expected.background)


def test_a_donor_who_can_present_nothing_has_a_calibration_without_calls():
    labelled, background, epitope = two_epitopes(4, 100)
    binds = sparse.csr_array((epitope[:, None] == np.arange(2)).astype(np.float32))
    nothing = np.zeros(2, bool)
    fitted = CalibrationScores(labelled, background, binds).calibration(nothing)
    scores = background.best(nothing)[1]
    share = fitted.prevalence(scores)
    assert (fitted.fdr(scores, share) > 0.4).all()
    assert (fitted.probability(scores, share) == 0).all()
