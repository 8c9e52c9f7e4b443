"""The test of Mann and Whitney: against scipy's permutations, and against all divisions."""

from itertools import combinations

from airrvec.stats import significance
from airrvec.stats.significance import mann_whitney

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats


def by_all_divisions(values, n_first) -> float:
    """Twice the share of divisions whose sum of midranks is as small or as large as that of the first."""
    ranks = stats.rankdata(values)
    sums = np.array([ranks[list(rows)].sum() for rows in combinations(range(len(values)), n_first)])
    observed = ranks[:n_first].sum()
    return min(1, 2 * min((sums <= observed).mean(), (sums >= observed).mean()))


def test_three_against_three_zeros_is_the_least_p_that_there_is():
    p = mann_whitney(np.array([[0.5], [0.4], [0.3]]), np.zeros((3, 1)))
    assert p == pytest.approx([0.1])


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 4, 100]))
@settings(max_examples=60, deadline=None)
def test_p_is_the_share_of_all_divisions(n_first, n_second, seed, n_values):
    shares = np.random.default_rng(seed).integers(0, n_values, (n_first + n_second, 12)) / 7
    found = mann_whitney(shares[:n_first], shares[n_first:])
    assert found == pytest.approx([by_all_divisions(column, n_first) for column in shares.T])


@pytest.mark.parametrize("n_values", [3, 100])
def test_p_is_that_of_scipys_permutation_test(n_values):
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, n_values, (5, 6)), rng.integers(0, n_values, (4, 6))

    def rank_sum(one, other, axis):
        ranks = stats.rankdata(np.concatenate([one, other], axis), axis=axis)
        return ranks.take(range(one.shape[axis]), axis).sum(axis)

    expected = stats.permutation_test((first, second), rank_sum, n_resamples=np.inf, axis=0).pvalue
    assert mann_whitney(first, second) == pytest.approx(expected)


def test_without_ties_p_is_that_of_mann_and_whitneys_own_table():
    rng = np.random.default_rng(5)
    first, second = rng.random((12, 20)), rng.random((25, 20))
    expected = stats.mannwhitneyu(first, second, method="exact", axis=0).pvalue
    assert mann_whitney(first, second) == pytest.approx(expected)
    assert mann_whitney(second, first) == pytest.approx(expected)


def test_zeros_of_one_cluster_change_no_other_cluster():
    rng = np.random.default_rng(6)
    first, second = rng.random((6, 9)), rng.random((5, 9))
    alone = mann_whitney(first[:, :1], second[:, :1])
    first[:, 1:] *= rng.random((6, 8)) < 0.4
    assert mann_whitney(first, second)[:1] == pytest.approx(alone)


def test_sixty_samples_are_exact_and_many_more_close_to_it(monkeypatch):
    rng = np.random.default_rng(7)
    first, second = rng.random((30, 4)), rng.random((30, 4)) + 0.2
    exact = stats.mannwhitneyu(first, second, method="exact", axis=0).pvalue
    assert mann_whitney(first, second) == pytest.approx(exact)
    many, more = rng.random((80, 3)), rng.random((90, 3)) + 0.1
    assert significance._divisions(np.arange(2, 342, 2), 80) is None
    expected = stats.mannwhitneyu(many, more, method="asymptotic", axis=0).pvalue
    assert mann_whitney(many, more) == pytest.approx(expected)
    monkeypatch.setattr(significance, "MOST_STEPS", 10**9)
    assert mann_whitney(many, more) == pytest.approx(expected, rel=0.1)


def test_few_of_many_samples_are_exact():
    """Five of 200 carry a cluster, all of them in a group of 100: the hypergeometric tail."""
    first, second = np.zeros((100, 1)), np.zeros((100, 1))
    first[:5, 0] = np.arange(1, 6)
    expected = 2 * stats.hypergeom.pmf(5, 200, 5, 100)
    assert mann_whitney(first, second) == pytest.approx([expected])


def test_ties_alone_tell_nothing():
    assert mann_whitney(np.zeros((3, 2)), np.zeros((4, 2))).tolist() == [1, 1]
    assert mann_whitney(np.zeros((3, 0)), np.zeros((4, 0))).shape == (0,)
