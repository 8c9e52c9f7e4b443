"""Coverage and Hill numbers at equal coverage: published values of iNEXT, enumeration, hand values."""

from itertools import combinations

from airrvec.repertoire import diversity

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

# Spiders of Ellison et al. 2010, the example of iNEXT.
GIRDLED = np.array([46, 22, 17, 15, 15, 9, 8, 6, 6, 4, *[2] * 4, *[1] * 12])
LOGGED = np.array([88, 22, 16, 15, 13, 10, 8, 8, 7, 7, 7, 5, 4, 4, 4, 3, 3, 3, 3, *[2] * 4, *[1] * 14])
COUNTS = st.lists(st.integers(1, 12), min_size=1, max_size=12).map(np.array)
REPEATED = COUNTS.filter(lambda counts: counts.max() > 1)


def test_coverage_is_that_of_inext():
    """The values that iNEXT prints, to the digits that it prints."""
    assert diversity.coverage(GIRDLED) == pytest.approx(0.9289, abs=5e-5)
    assert diversity.coverage(LOGGED) == pytest.approx(0.9446, abs=5e-5)
    assert diversity.coverage(GIRDLED, 300) == pytest.approx(0.9579518, abs=5e-8)


def test_extrapolation_is_that_of_inext():
    """``estimateD(spider$Girdled, level = 300)`` of iNEXT 3, as in the vignette of divent."""
    expected = [33.317733, 12.869603, 7.983882]
    assert diversity.hill_numbers_at(GIRDLED, 300) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("counts", "expected"), [(GIRDLED, 13.826253), (LOGGED, 16.337069)])
def test_entropy_is_that_of_inext(counts, expected):
    assert np.exp(diversity.entropy(counts)) == pytest.approx(expected, abs=5e-7)


@settings(max_examples=50)
@given(REPEATED.filter(lambda counts: (counts == 1).any() and 1 < counts.sum() < 40))
def test_entropy_is_the_plain_sum(counts):
    n, once, twice = (int(value) for value in (counts.sum(), (counts == 1).sum(), (counts == 2).sum()))
    seen = sum(x / n * sum(1 / r for r in range(x, n)) for x in counts.tolist())
    a = 2 * twice / ((n - 1) * once + 2 * twice) if twice else 2 / ((n - 1) * (once - 1) + 2)
    rest = -np.log(a) - sum((1 - a) ** r / r for r in range(1, n)) if a < 1 else 0
    unseen = once / n * (1 - a) ** (1 - n) * rest if a < 1 else 0
    assert diversity.entropy(counts) == pytest.approx(seen + unseen, rel=1e-5)


@settings(max_examples=20)
@given(st.lists(st.integers(1, 4), min_size=2, max_size=4).map(np.array), st.data())
def test_coverage_of_fewer_cells_is_the_chance_that_the_next_cell_is_known(counts, data):
    """By enumeration: each cell in turn is the next one after each set of the others."""
    n_drawn = data.draw(st.integers(1, int(counts.sum()) - 1))
    cells = np.repeat(np.arange(len(counts)), counts).tolist()
    known = [
        cells[next_cell] in {cells[place] for place in drawn}
        for next_cell in range(len(cells))
        for drawn in combinations([place for place in range(len(cells)) if place != next_cell], n_drawn)
    ]
    assert diversity.coverage(counts, n_drawn) == pytest.approx(np.mean(known))


def test_coverage_by_hand():
    # n = 10, f1 = 2, f2 = 1: 1 − 2/10 · 9·2/(9·2 + 2)
    assert diversity.coverage(np.array([1, 1, 2, 6])) == pytest.approx(1 - 0.2 * 18 / 20)
    assert diversity.coverage(np.array([3, 4])) == 1
    # No receptor twice: f1 = 2 of n = 5: 1 − 2/5 · 4·1/(4·1 + 2)
    assert diversity.coverage(np.array([1, 1, 3])) == pytest.approx(1 - 0.4 * 4 / 6)
    assert diversity.coverage(np.array([1])) == 0


@settings(max_examples=60)
@given(REPEATED)
def test_everything_grows_with_the_number_of_cells(counts):
    n = int(counts.sum())
    points = range(1, 2 * n + 1)
    covered = [diversity.coverage(counts, point) for point in points]
    assert (np.diff(covered) >= -1e-12).all()
    assert 0 <= covered[0] <= covered[-1] <= 1
    hill = np.array([diversity.hill_numbers_at(counts, point) for point in points])
    assert (np.diff(hill, axis=0) >= -1e-9).all()
    assert (np.diff(hill, axis=1) <= 1e-9).all()  # they fall with their order
    assert hill[0] == pytest.approx([1, 1, 1])
    assert hill[n - 1] == pytest.approx(diversity.hill_numbers(counts))


@settings(max_examples=60)
@given(REPEATED, st.floats(0.01, 1))
def test_cells_at_a_coverage_are_the_fewest(counts, share):
    target = share * diversity.reach(counts)
    depth = diversity.cells_at_coverage(counts, target)
    assert diversity.coverage(counts, depth) >= target * (1 - 2e-9)
    assert depth == 1 or diversity.coverage(counts, depth - 1) < target


def test_the_reference_is_the_lowest_coverage_that_all_reach():
    found = diversity.reference_coverage([GIRDLED, LOGGED])
    assert found == diversity.reach(GIRDLED) < diversity.reach(LOGGED)
    assert diversity.cells_at_coverage(GIRDLED, found) == 2 * GIRDLED.sum()
    # 1 − f1/n A^(m* + 1), solved for m*, with A of 14 receptors seen once and 4 twice.
    ratio = 251 * 14 / (251 * 14 + 8)
    more = np.log((1 - found) * 252 / 14) / np.log(ratio) - 1
    assert diversity.cells_at_coverage(LOGGED, found) == 252 + np.ceil(more)


@pytest.mark.parametrize(
    "small",
    [[1, 1, 1], [2, 1], [1], [3], [1] * 25, [2, *[1] * 23], [2, *[1] * 47]],
    ids=lambda counts: str(sum(counts)),
)
def test_a_small_sample_flattens_no_other(small):
    """Whether or not it has a receptor twice; rarefied to its size, all samples would look alike."""
    others = [GIRDLED, LOGGED, 2 * LOGGED]
    assert diversity.reference_coverage([*others, np.array(small)]) == diversity.reference_coverage(others)


def test_small_samples_decide_where_most_are_small():
    small = [np.array([*[2] * n, *[1] * 20]) for n in (3, 4, 5)]
    found = diversity.reference_coverage([*small, GIRDLED])
    assert found == diversity.reach(small[0])
    # One of few repeats among large ones does not reach their coverage, and does not change it.
    assert diversity.reference_coverage([small[0], GIRDLED, LOGGED]) == diversity.reach(GIRDLED)


def test_samples_of_few_repeats_keep_their_coverage_if_they_are_most():
    naive = [np.array([*[2] * n, *[1] * 1000]) for n in (20, 30, 40)]
    found = diversity.reference_coverage([*naive, GIRDLED])
    assert found == diversity.reach(naive[0])
    assert diversity.cells_at_coverage(GIRDLED, found) < diversity.FEW_CELLS


def test_without_a_repeated_receptor_there_is_no_reference():
    assert diversity.reference_coverage([np.ones(50, int), np.array([1])]) is None
    assert diversity.reference_coverage([]) is None
