"""Nearest neighbours against all distances at once."""

from airrvec.search import collecting, neighbours, radius_search, rounded

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist


def unit_vectors(n, d, seed):
    vectors = np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def brute_force(queries, references, k):
    distances = cdist(queries, references)
    rows = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(distances, rows, 1), rows


@pytest.fixture(params=[True, False], ids=["rounded", "float32"])
def products(request, monkeypatch):
    """Both ways to find candidates, on any processor."""
    monkeypatch.setattr(rounded, "ROUNDED", request.param)
    monkeypatch.setattr(rounded, "FEWEST", 0)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("threads", [1, 2])
def test_exact_search_finds_what_all_distances_say(threads):
    queries, references = unit_vectors(600, 64, 1), unit_vectors(5000, 64, 2)  # several blocks of both
    distances, rows = neighbours.nearest(queries, references, 10, threads=threads)
    expected, expected_rows = brute_force(queries, references, 10)
    assert np.array_equal(rows, expected_rows)
    assert distances == pytest.approx(expected, abs=1e-6)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("scale", [1e-6, 1.0, 30.0, 1e6])
def test_vectors_of_any_length(scale):
    """Products of long vectors lie on both sides of zero, by more than keys of 63 bits can be apart."""
    rng = np.random.default_rng(9)
    references = (scale * rng.standard_normal((3000, 2))).astype(np.float32)
    distances, rows = neighbours.nearest(references, references, 2)
    expected, _ = brute_force(references, references, 2)
    assert rows[:, 0].tolist() == list(range(3000))
    np.testing.assert_allclose(distances, expected, rtol=1e-5, atol=1e-12 * scale)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12), st.integers(0, 1000))
def test_any_shape_of_search(n, m, k, seed):
    queries, references = unit_vectors(n, 5, seed), unit_vectors(m, 5, seed + 1)
    distances, rows = neighbours.nearest(queries, references, k)
    expected, expected_rows = brute_force(queries, references, k)
    found = min(k, m)
    assert np.array_equal(rows[:, :found], expected_rows)
    assert distances[:, :found] == pytest.approx(expected, abs=1e-6)
    assert (rows[:, found:] == -1).all()
    assert np.isinf(distances[:, found:]).all()


def test_equal_vectors_have_distance_zero_and_the_lower_row_is_first():
    references = np.repeat(unit_vectors(3, 64, 3), 4, axis=0)
    distances, rows = neighbours.nearest(references[:1], references, 4)
    assert (distances == 0).all()
    assert rows.tolist() == [[0, 1, 2, 3]]


@pytest.fixture
def is_rounded(monkeypatch):
    monkeypatch.setattr(rounded, "ROUNDED", True)
    monkeypatch.setattr(rounded, "FEWEST", 0)


@pytest.fixture
def searched_again(monkeypatch):
    """Numbers of queries that are searched again, without rounded vectors and limits from a sample."""
    n_again, search = [], neighbours._nearest_in_cells

    def counted(queries, *args):
        n_again.append(len(queries))
        return search(queries, *args)

    monkeypatch.setattr(neighbours, "_nearest_in_cells", counted)
    return n_again


@pytest.mark.usefixtures("is_rounded")
def test_rounded_vectors_far_from_the_origin(searched_again):
    """Rounding depends on the distances from the centre of the references; float32 loses the digits."""
    queries, references = (100 + 0.1 * unit_vectors(n, 64, n) for n in (300, 5000))
    distances, rows = neighbours.nearest(queries, references, 10)
    expected, expected_rows = brute_force(queries, references, 10)
    assert (rows == expected_rows).mean() > 0.99  # equal distances in float32 have another order in float64
    np.testing.assert_allclose(distances, expected, rtol=1e-4)
    assert sum(searched_again) <= 3


@pytest.mark.usefixtures("is_rounded")
@pytest.mark.parametrize(
    ("far_queries", "far_references", "again", "tolerance"),
    [
        ([], [17], 40, {"abs": 1e-6}),  # so far away that all others are rounded to one number
        ([3, 8], [], 2, {"rel": 1e-5}),  # too far away to be rounded
    ],
)
def test_what_rounding_cannot_decide(searched_again, far_queries, far_references, again, tolerance):
    queries, references = unit_vectors(40, 64, 15), unit_vectors(3000, 64, 16)
    queries[far_queries] *= 100
    references[far_references] = 1e6
    distances, rows = neighbours.nearest(queries, references, 10)
    expected, expected_rows = brute_force(queries, references, 10)
    assert np.array_equal(rows, expected_rows)
    assert distances == pytest.approx(expected, **tolerance)
    assert searched_again == [again]


@pytest.mark.usefixtures("products")
def test_limits_of_a_sample_that_are_too_low(searched_again):
    """All references near a query are in the strips that give the limits, and there are fewer than k."""
    queries, references = unit_vectors(64, 64, 17), unit_vectors(12_000, 64, 18)
    strips = np.arange(len(references)) // neighbours.WIDTH
    sampled = np.flatnonzero(strips % neighbours.SAMPLED == 0)[:512]
    spread = np.linspace(0.05, 0.2, len(sampled), dtype=np.float32)[:, None]
    references[sampled] = np.tile(queries, (8, 1)) + spread * references[sampled]
    _, rows = neighbours.nearest(queries, references, 10)
    assert np.array_equal(rows, brute_force(queries, references, 10)[1])
    assert searched_again == [64]


@pytest.mark.parametrize("d", [1, 2, 7, 64])
def test_rounded_products_are_wrong_by_half_of_the_slack_at_most(d):
    queries, references = 3 + unit_vectors(60, d, 19), 3 + 0.7 * unit_vectors(100, d, 20)
    compared = rounded.Rounded.from_vectors(references, 90)
    packed, is_short = compared.packed(queries)
    limits, keys, counts = collecting.no_references(60, 100)
    limits[:] = rounded.HIGHEST
    strips = np.arange(0, 96, neighbours.WIDTH)
    collecting.collect(packed, compared.columns, strips, limits, compared.slack, 100, keys, counts)
    assert is_short.any()
    assert (counts == 90).all()  # no places behind the last reference
    centred = [(part.astype(np.float64) - compared.centre) * compared.scale for part in (queries, references)]
    for query in np.flatnonzero(is_short):
        rows = keys[query, :90] & collecting.LOWER
        near = centred[1][rows]
        exact = (near**2).sum(axis=1) / 2 - near @ centred[0][query]
        products = [collecting._product(key) for key in keys[query, :90]]
        assert np.abs(products - exact).max() <= compared.slack / 2
        assert np.array_equal(np.sort(rows), np.arange(90))


def test_vectors_with_nan_have_no_neighbours_and_are_nobodys():
    references = unit_vectors(20, 8, 4)
    queries = references[:3].copy()
    queries[1], references[0] = np.nan, np.nan
    distances, rows = neighbours.nearest(queries, references, 20)
    assert (rows[1] == -1).all()
    assert np.isinf(distances[1]).all()
    assert 0 not in rows
    assert rows[2, 0] == 2
    assert (rows[0] == -1).sum() == 1
    offsets, within_rows, _ = radius_search.within(queries, references, 2.0)
    assert np.diff(offsets).tolist() == [19, 0, 19]
    assert 0 not in within_rows


def test_many_equally_near_references_give_the_lowest_rows():
    queries = unit_vectors(40, 64, 13)
    references = np.tile(queries, (50, 1))  # 50 of each distance: more than one selection
    distances, rows = neighbours.nearest(queries, references, 30)
    assert np.array_equal(rows, np.arange(40)[:, None] + 40 * np.arange(30))
    assert (distances == 0).all()


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=60),
    st.integers(1, 60),
)
def test_keys_sort_as_their_products_and_the_least_are_kept(products, k):
    products = np.array(products, np.float32) + np.float32(0)  # no -0.0: its key is below that of 0.0
    keys = np.array(
        [collecting._key(bits, place) for place, bits in enumerate(products.view(np.int32))], np.int64
    )
    order = np.argsort(keys)
    assert np.array_equal(order, np.argsort(products, kind="stable"))
    assert np.array_equal([collecting._product(key) for key in keys], products)
    k = min(k, len(keys))
    least = np.sort(keys)[:k]
    selected = keys.copy()
    collecting.select(selected, k)
    assert np.array_equal(np.sort(selected[:k]), least)
    dropped = keys.copy()
    count, limit = collecting._drop(dropped, k, np.float32(0))
    assert count >= k
    assert np.array_equal(np.sort(dropped[:count])[:k], least)
    assert limit >= products[order[k - 1]]


def test_approximate_search_prints_the_recall_that_it_has(capsys):
    centres = unit_vectors(50, 16, 7)
    spread = np.random.default_rng(8).normal(0, 0.05, (5000, 16)).astype(np.float32)
    references = np.repeat(centres, 100, axis=0) + spread
    queries = references[::5]
    _, exact = neighbours.nearest(queries, references, 5)
    _, rows = neighbours.nearest(queries, references, 5, approximate_above=0)
    recall = np.mean([len(np.intersect1d(a, b)) for a, b in zip(rows, exact, strict=True)]) / 5
    assert recall > 0.95
    assert f"recall {recall:.3f}, measured on 1,000 queries" in capsys.readouterr().err


def test_exact_search_prints_nothing(capsys):
    neighbours.nearest(unit_vectors(5, 4, 9), unit_vectors(9, 4, 10), 2)
    assert capsys.readouterr().err == ""


def test_search_by_torch_finds_the_same(monkeypatch):
    import torch

    queries, references = unit_vectors(300, 64, 11), unit_vectors(1000, 64, 12)
    distances, rows = neighbours._nearest_torch(queries, references, 10, torch.device("cpu"))
    expected, expected_rows = neighbours.nearest(queries, references, 10)
    assert np.array_equal(rows, expected_rows)
    assert distances == pytest.approx(expected, abs=1e-6)
