"""Diversity and overlap against hand values, enumeration and double loops."""

import tracemalloc
from collections import Counter
from itertools import combinations

from airrvec.repertoire import diversity

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

COUNTS = st.lists(st.integers(1, 30), min_size=1, max_size=12).map(np.array)


def test_hill_numbers_by_hand():
    assert diversity.hill_numbers(np.array([3, 3, 3, 3])) == pytest.approx([4, 4, 4])
    assert diversity.hill_numbers(np.array([2, 1, 1])) == pytest.approx([3, 2**1.5, 8 / 3])


@settings(deadline=None)
@given(COUNTS)
def test_hill_numbers_fall_with_their_order(counts):
    hill = diversity.hill_numbers(counts)
    assert hill[0] == pytest.approx(len(counts))
    assert (np.diff(hill) <= 1e-9).all()
    assert hill[2] >= 1 - 1e-9


@settings(deadline=None)
@given(COUNTS)
def test_all_cells_rarefy_to_themselves(counts):
    assert diversity.rarefied_hill_numbers(counts, int(counts.sum())) == pytest.approx(
        diversity.hill_numbers(counts)
    )
    assert diversity.rarefied_hill_numbers(counts, 1) == pytest.approx([1, 1, 1])


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=4).map(np.array), st.data())
def test_rarefaction_is_the_mean_over_all_draws(counts, data):
    depth = data.draw(st.integers(1, int(counts.sum())))
    draws = list(combinations(np.repeat(np.arange(len(counts)), counts).tolist(), depth))
    found = Counter(n for draw in draws for n in Counter(draw).values())
    of_size = {n: number / len(draws) for n, number in found.items()}
    expected = [
        sum(of_size.values()),
        np.exp(-sum(number * n / depth * np.log(n / depth) for n, number in of_size.items())),
        1 / sum(number * (n / depth) ** 2 for n, number in of_size.items()),
    ]
    assert diversity.rarefied_hill_numbers(counts, depth) == pytest.approx(expected)


@pytest.mark.parametrize("depth_share", [0.001, 0.5, 1])
def test_rarefaction_of_large_clones_is_exact_and_takes_little_memory(depth_share):
    """Clones of up to a million cells of 1,500 sizes, of which a table of all numbers would take 12 GB."""
    rng = np.random.default_rng(3)
    large = rng.choice(np.arange(2, 10**6), 1500, replace=False)
    counts = np.concatenate([large, np.ones(100_000, np.int64), [10**6]])
    n_cells = int(counts.sum())
    depth = round(depth_share * n_cells)
    tracemalloc.start()
    hill = diversity.rarefied_hill_numbers(counts, depth)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300e6
    mean = counts * (depth / n_cells)
    square = mean * (1 + (depth - 1) * (counts - 1) / (n_cells - 1))
    cells = np.arange(10**6)
    with np.errstate(divide="ignore", invalid="ignore"):  # all are drawn where the depth is all
        none = np.exp(np.cumsum(np.log((n_cells - depth - cells) / (n_cells - cells))))  # of 1, 2, … cells
    assert hill[0] == pytest.approx((1 - np.nan_to_num(none))[counts - 1].sum(), rel=1e-9)
    assert hill[2] == pytest.approx(depth**2 / square.sum(), rel=1e-9)
    if depth_share == 1:
        assert hill == pytest.approx(diversity.hill_numbers(counts))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 3000), min_size=1, max_size=20).map(np.array), st.floats(0.001, 1))
def test_rarefaction_is_that_of_scipys_hypergeometric(counts, share):
    n_cells = int(counts.sum())
    depth = max(1, round(share * n_cells))
    drawn = np.arange(1, depth + 1)
    numbers = stats.hypergeom.pmf(drawn, n_cells, counts[:, None], depth).sum(axis=0)
    p = drawn / depth
    expected = [numbers.sum(), np.exp(-(numbers * p * np.log(p)).sum()), 1 / (numbers * p**2).sum()]
    assert diversity.rarefied_hill_numbers(counts, depth) == pytest.approx(expected, rel=1e-6)


@settings(deadline=None)
@given(COUNTS.filter(lambda counts: 1 < counts.sum() < 100))
def test_coincidence_is_the_share_of_equal_pairs(counts):
    cells = np.repeat(np.arange(len(counts)), counts)
    equal = [first == second for first, second in combinations(cells, 2)]
    assert diversity.coincidence(counts) == pytest.approx(np.mean(equal))


def test_coincidence_of_a_single_cell_is_unknown():
    assert np.isnan(diversity.coincidence(np.array([1])))


def test_overlap_by_hand():
    first, second = np.array([2, 2, 0, 4]), np.array([1, 0, 3, 0])
    assert diversity.jaccard(first, second) == pytest.approx(1 / 4)
    expected = 2 * (0.25 * 0.25) / ((0.25**2 + 0.25**2 + 0.5**2) + (0.25**2 + 0.75**2))
    assert diversity.morisita_horn(first, second) == pytest.approx(expected)


@settings(deadline=None)
@given(COUNTS, st.integers(1, 5))
def test_overlap_with_itself_is_one_and_with_others_none(counts, times):
    assert diversity.morisita_horn(counts, times * counts) == pytest.approx(1)
    assert diversity.jaccard(counts, times * counts) == 1
    alone = np.concatenate([counts, np.zeros_like(counts)]), np.concatenate([np.zeros_like(counts), counts])
    assert diversity.morisita_horn(*alone) == 0
    assert diversity.jaccard(*alone) == 0
