"""Rank tests of any design: against scipy's tests, and against all exchanges, listed."""

from itertools import combinations

from airrvec.stats import rank_tests
from airrvec.stats.designs import SEVERAL_GROUPS, TREND, TWO_GROUPS, Design

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats


def design(labels, blocks=None, kind=TWO_GROUPS) -> Design:
    """A design of units of donors of their own, or of blocks."""
    labels = np.asarray(labels)
    names = [str(number) for number in range(len(labels))]
    values = tuple(map(str, np.unique(labels)))
    within = None if blocks is None else "batch"
    blocks = np.zeros(len(labels), int) if blocks is None else np.asarray(blocks)
    return Design(kind, values, [[name] for name in names], np.array(names, object), labels, blocks, within)


def mann_whitney(first, second):
    """p of two values without blocks."""
    labels = np.repeat([0, 1], [len(first), len(second)])
    return rank_tests.rank_test(np.concatenate([first, second]), design(labels), 0, np.random.default_rng(0))


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
    assert rank_tests._divisions(np.arange(2, 342, 2), 80) is None
    expected = stats.mannwhitneyu(many, more, method="asymptotic", axis=0).pvalue
    assert mann_whitney(many, more) == pytest.approx(expected)
    monkeypatch.setattr(rank_tests, "MOST_STEPS", 10**9)
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


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3, 100]))
@settings(max_examples=60, deadline=None)
def test_p_within_blocks_is_the_share_of_all_exchanges_within_them(seed, n_values):
    rng = np.random.default_rng(seed)
    blocks = np.sort(rng.integers(0, 3, 8))
    labels = rng.integers(0, 2, 8)
    made = design(labels, blocks)
    values = rng.integers(0, n_values, (8, 5)) / 7
    ranks = rank_tests.aligned_ranks(values, made)
    every = made.arrangements(10**6, rng)
    assert every.shape == (8, made.n_arrangements)
    sums = ranks.T @ (every == 0)
    observed = sums[:, :1]
    share = np.minimum((sums <= observed).mean(axis=1), (sums >= observed).mean(axis=1))
    found = rank_tests.rank_test(values, made, 0, rng)
    assert found == pytest.approx(np.minimum(2 * share, 1))
    assert (found >= made.least_p - 1e-12).all()


def test_pairs_are_tested_by_signed_ranks():
    """With differences of one sign, p is two of all signs; with Wilcoxon's test it is the same."""
    rng = np.random.default_rng(1)
    before = rng.random((7, 1))
    after = before + rng.random((7, 1)) + 0.1
    made = design(np.tile([0, 1], 7), np.repeat(np.arange(7), 2))
    values = np.stack([before, after], axis=1).reshape(14, 1)
    found = rank_tests.rank_test(values, made, 0, rng)
    assert found == pytest.approx([2 / 2**7])
    assert found == pytest.approx(stats.wilcoxon(before, after, axis=0, method="exact").pvalue)


def test_several_values_are_tested_as_by_kruskal_and_wallis():
    rng = np.random.default_rng(2)
    labels = np.repeat([0, 1, 2], [2, 2, 3])
    values = rng.random((7, 3))
    made = design(labels, kind=SEVERAL_GROUPS)

    def statistic(*groups):
        return stats.kruskal(*groups).statistic

    every = made.arrangements(10**6, rng)
    for column, p in zip(values.T, rank_tests.rank_test(values, made, 10**6, rng), strict=True):
        of_all = np.array([statistic(*(column[labels == k] for k in range(3))) for labels in every.T])
        assert p == pytest.approx((of_all >= of_all[0] - 1e-9).mean())


def test_a_trend_is_tested_by_spearmans_correlation():
    rng = np.random.default_rng(3)
    times = np.array([0.0, 1, 3, 7, 20, 30])
    values = rng.random((6, 4))
    made = design(times, kind=TREND)
    every = made.arrangements(10**6, rng)
    ranks = stats.rankdata(values, axis=0)
    for column, p in zip(ranks.T, rank_tests.rank_test(values, made, 10**6, rng), strict=True):
        of_all = np.abs([np.corrcoef(column, labels)[0, 1] for labels in every.T])
        assert p == pytest.approx((of_all >= of_all[0] - 1e-9).mean())


def test_effects_are_those_of_linear_models():
    rng = np.random.default_rng(4)
    values = rng.random((10, 2))
    labels = np.repeat([0, 1], 5)
    effect, low, high = rank_tests.effects(values, design(labels))
    for column in range(2):
        result = stats.ttest_ind(values[:5, column], values[5:, column])
        assert effect[column] == pytest.approx(values[:5, column].mean() - values[5:, column].mean())
        assert (low[column], high[column]) == pytest.approx(tuple(result.confidence_interval()))
    pairs = design(np.tile([0, 1], 5), np.repeat(np.arange(5), 2))
    effect, low, high = rank_tests.effects(values, pairs)
    result = stats.ttest_rel(values[::2], values[1::2])
    assert effect == pytest.approx((values[::2] - values[1::2]).mean(axis=0))
    assert np.array([low, high]) == pytest.approx(np.array(result.confidence_interval()))
    times = np.arange(10.0) ** 2
    effect, low, high = rank_tests.effects(values, design(times, kind=TREND))
    line = stats.linregress(times, values[:, 0])
    half = stats.t.ppf(0.975, 8) * line.stderr
    assert (effect[0], low[0], high[0]) == pytest.approx((line.slope, line.slope - half, line.slope + half))
    assert np.isnan(rank_tests.effects(values, design(labels, kind=SEVERAL_GROUPS))).all()
