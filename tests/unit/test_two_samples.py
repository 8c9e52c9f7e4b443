"""Distances of two samples and permutation tests: against scipy, double loops, and simulation."""

from airrvec.stats import significance

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats
from sklearn.metrics.pairwise import rbf_kernel

RNG = np.random.default_rng(7)


def test_frechet_distance_is_that_of_scipys_square_root():
    first, second = RNG.normal(size=(50, 6)), RNG.normal(1, 2, size=(40, 6))
    covariances = [np.cov(sample.T) for sample in (first, second)]
    means = first.mean(axis=0) - second.mean(axis=0)
    root = linalg.sqrtm(covariances[0] @ covariances[1]).real
    expected = np.sqrt(means @ means + np.trace(sum(covariances) - 2 * root))
    assert significance.frechet_distance(first, second) == pytest.approx(expected)
    assert significance.frechet_distance(first, first) == pytest.approx(0, abs=1e-6)
    assert significance.frechet_distance(first, first + 3) == pytest.approx(3 * np.sqrt(6))


def plain_mmd(kernel, in_first) -> float:
    pairs = {True: [], False: [], None: []}
    for i in range(len(kernel)):
        for j in range(len(kernel)):
            if i != j:
                pairs[bool(in_first[i]) if in_first[i] == in_first[j] else None].append(kernel[i, j])
    return np.mean(pairs[True]) + np.mean(pairs[False]) - 2 * np.mean(pairs[None])


def test_kernels_are_those_of_scikit_learn():
    first, second = RNG.normal(size=(40, 64)), RNG.normal(3, 2, size=(30, 64))
    for other in (first, second):
        expected = rbf_kernel(first, other, gamma=1 / (2 * 8.0**2))
        np.testing.assert_allclose(significance.gaussian(first, other, 8.0), expected, rtol=1e-12)


def test_mmd_is_that_of_a_double_loop():
    vectors = RNG.normal(size=(12, 3))
    kernel = significance.gaussian(vectors, vectors, 1.5)
    assert kernel[2, 5] == pytest.approx(np.exp(-((vectors[2] - vectors[5]) ** 2).sum() / (2 * 1.5**2)))
    divisions = significance.divisions(12, 5, 30, RNG)
    found = significance.mmd(kernel, divisions)
    assert found == pytest.approx([plain_mmd(kernel, column) for column in divisions.T])


def test_few_divisions_are_all_taken_once():
    divisions = significance.divisions(5, 2, 10, RNG)
    assert divisions.shape == (5, 10)
    assert divisions[:, 0].tolist() == [True, True, False, False, False]
    assert len({tuple(column) for column in divisions.T}) == 10
    assert (divisions.sum(axis=0) == 2).all()


@settings(deadline=None)
@given(st.integers(2, 20), st.integers(2, 20))
def test_random_divisions_keep_the_sizes(n, m):
    divisions = significance.divisions(n + m, n, 5, np.random.default_rng(3))
    assert (divisions.sum(axis=0) == n).all()
    assert divisions[:n, 0].all()


def p_value(first, second, n_permutations=99) -> float:
    pooled = np.concatenate([first, second])
    kernel = significance.gaussian(pooled, pooled, significance.bandwidth(pooled, RNG))
    divisions = significance.divisions(len(pooled), len(first), n_permutations, RNG)
    return significance.permutation_p(significance.mmd(kernel, divisions))


def test_p_is_uniform_if_the_samples_are_of_one_kind():
    values = np.array([p_value(*RNG.normal(size=(2, 15, 3))) for _ in range(400)])
    assert stats.kstest(values, "uniform").pvalue > 0.01
    assert 0.02 <= (values <= 0.05).mean() <= 0.08


def test_p_is_least_if_they_are_not():
    assert p_value(RNG.normal(size=(40, 3)), RNG.normal(1.5, size=(40, 3))) == 0.01
    # The same mean and another spread: what the mean alone would not show.
    assert p_value(RNG.normal(size=(80, 3)), RNG.normal(0, 3, size=(80, 3))) == 0.01


def test_false_discoveries_by_hand():
    found = significance.benjamini_hochberg(np.array([0.01, np.nan, 0.04, 0.03]))
    assert found == pytest.approx([0.03, np.nan, 0.04, 0.04], nan_ok=True)
    assert np.isnan(significance.benjamini_hochberg(np.array([np.nan]))).all()
