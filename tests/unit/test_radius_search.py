"""Pairs within a radius against all distances at once, in one cell and in many."""

from airrvec.repertoire import clustering
from airrvec.search import neighbours, radius_search, rounded
from airrvec.search.lower_bounds import lower_bounds

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from test_neighbours import unit_vectors


def in_cells(n, d, seed, n_cells=20, spread=0.3):
    """Unit vectors about some centres, among them equal ones, in the order of no cell."""
    rng = np.random.default_rng(seed)
    vectors = unit_vectors(n_cells, d, seed)[rng.integers(n_cells, size=n)]
    vectors = vectors + spread * unit_vectors(n, d, seed + 1)
    vectors[rng.integers(n, size=n // 10)] = vectors[0]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def all_pairs(queries, references, radius):
    """Pairs and distances, summed as the search sums them; 300 rows at once."""
    parts = []
    for start in range(0, len(queries), 300):
        squares = ((queries[start : start + 300, None] - references[None]) ** 2).sum(axis=2)
        query, reference = np.nonzero(np.sqrt(squares) <= np.float32(radius))
        parts.append((query + start, reference, np.sqrt(squares)[query, reference]))
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


@pytest.fixture(params=[(1, True), (7, True), (7, False), (64, True), (64, False)])
def cells(request, monkeypatch):
    """Vectors of a cell: one row, a few, more than the kernels compare at once; rounded or not."""
    size, is_rounded = request.param
    monkeypatch.setattr(radius_search, "CELL", size)
    monkeypatch.setattr(rounded, "ROUNDED", is_rounded)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.7, 1.0, 2.5])
@pytest.mark.parametrize("threads", [1, 2])
def test_radius_search_finds_what_all_distances_say(cells, radius, threads):
    queries, references = in_cells(300, 16, 5), in_cells(900, 16, 6)
    references[7] = queries[200]
    offsets, rows, distances = radius_search.within(queries, references, radius, threads=threads)
    query, reference, expected = all_pairs(queries, references, radius)
    assert np.array_equal(np.repeat(np.arange(300), np.diff(offsets)), query)
    assert np.array_equal(rows, reference)
    np.testing.assert_array_equal(distances, expected)


@pytest.mark.parametrize("radius", [0.0, 0.3, 0.7, 2.5])
@pytest.mark.parametrize("threads", [1, 2])
def test_each_pair_of_vectors_is_found_once(cells, radius, threads):
    vectors = in_cells(700, 64, 7)
    first, second, distances = radius_search.pairs_within(vectors, radius, threads=threads)
    expected = all_pairs(vectors, vectors, radius)
    once = expected[0] < expected[1]
    assert len(first) > 100
    for found, column in zip((first, second, distances), expected, strict=True):
        np.testing.assert_array_equal(found, column[once])


def test_pairs_at_exactly_the_radius_are_within(cells):
    vectors = in_cells(500, 24, 8)
    _, _, distances = all_pairs(vectors, vectors, 0.8)
    for radius in np.unique(distances)[1::500]:  # distances that occur
        found = radius_search.pairs_within(vectors, float(radius))
        below = radius_search.pairs_within(vectors, float(np.nextafter(radius, np.float32(0))))
        assert found[2].max() == radius
        assert len(below[0]) == (found[2] < radius).sum()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 40),
    st.integers(1, 40),
    st.integers(1, 9),
    st.sampled_from([1e-3, 1.0, 1e3]),
    st.floats(0, 2),
    st.integers(0, 1000),
)
def test_any_shape_and_scale(n, m, d, scale, radius, seed):
    rng = np.random.default_rng(seed)
    queries, references = (
        (scale * rng.standard_normal((size, d))).round(1).astype(np.float32) + np.float32(scale)
        for size in (n, m)
    )
    queries[rng.random(n) < 0.1], references[rng.random(m) < 0.1] = np.nan, np.nan
    offsets, rows, _ = radius_search.within(queries, references, scale * radius)
    squares = ((queries[:, None] - references[None]) ** 2).sum(axis=2)
    sure = np.sqrt(squares) <= scale * radius * (1 - 1e-5)
    possible = np.sqrt(squares) <= scale * radius * (1 + 1e-5)
    found = np.zeros((n, m), bool)
    found[np.repeat(np.arange(n), np.diff(offsets)), rows] = True
    assert (found >= sure).all()
    assert (found <= possible).all()


def test_short_vectors_are_never_farther_apart_than_the_vectors():
    vectors = in_cells(2000, 64, 9)
    for radius in (0.1, 0.6, 1.2):
        bounds = lower_bounds(vectors, vectors, radius, seed=1)
        short = bounds.short(vectors, np.arange(400)).astype(np.float64)
        apart = cdist(vectors[:400], vectors[:400])
        assert (cdist(short, short) <= apart + 1e-6).all()
        assert short.shape[1] <= 65


@pytest.mark.parametrize("is_rounded", [True, False])
@pytest.mark.parametrize("limit", [0.01, 0.5, 3.0, 1e6])
def test_no_product_within_the_limit_is_below_zero(monkeypatch, is_rounded, limit):
    monkeypatch.setattr(rounded, "ROUNDED", is_rounded)
    short = 2 * unit_vectors(200, 9, 12) * np.linspace(0, 1, 200, dtype=np.float32)[:, None]
    products = rounded.ShortProducts.within(limit, 2.0, 9)
    numbers, halves = products.numbers(short)
    one, far, half = products.constants
    queries = np.column_stack([numbers, np.full(200, one), halves + half])
    references = np.column_stack([numbers, halves, np.full(200, one)])
    nowhere = np.append(np.zeros_like(numbers[0]), [far, one]).astype(numbers.dtype)
    queries, references, nowhere = (
        part.view(np.int16).astype(np.int64) if is_rounded else part.astype(np.float64)
        for part in (queries, references, nowhere)
    )
    found = queries @ references.T
    squares = cdist(short, short, "sqeuclidean")
    assert (found[squares <= limit] >= (0 if is_rounded else -1e-6 * limit)).all()
    assert (found[squares > 1.01 * limit + 0.01] < 0).all()
    assert (queries @ nowhere < 0).all()
    assert np.abs(found).max() < 2**31 or not is_rounded


@pytest.mark.parametrize("part", [50, 400, 10_000])
def test_radius_by_chance_is_that_of_all_pairs(monkeypatch, part):
    monkeypatch.setattr(clustering, "_FIRST_PART", part)
    vectors, background = in_cells(3000, 32, 10), in_cells(2000, 32, 11)
    distances = np.sort(np.concatenate([neighbours.nearest(background, vectors, 40)[0].ravel()]))
    assert clustering.radius_by_chance(vectors, background, 0.01) == distances[19]
