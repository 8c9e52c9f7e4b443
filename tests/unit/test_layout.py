"""Places of receptors on the map: PCA and UMAP."""

from airrvec.repertoire import layout
from airrvec.search.neighbours import nearest

import numpy as np
import pytest
from sklearn.manifold import trustworthiness


def vectors(n: int, seed: int = 1) -> np.ndarray:
    """Four groups of unit vectors."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(4, 16))[np.arange(n) % 4] + 0.3 * rng.normal(size=(n, 16))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def test_pca_is_that_of_scikit_learn():
    from sklearn.decomposition import PCA

    found, expected = layout.pca(vectors(40)), PCA(2).fit_transform(vectors(40))
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)


def test_umap_keeps_neighbours_and_repeats_itself():
    of_groups = vectors(400)
    places, method = layout.plane(of_groups, seed=420)
    assert method == "umap"
    assert trustworthiness(of_groups, places, n_neighbors=15) > 0.93
    # Of almost every receptor the nearest on the map is of its own group.
    _, rows = nearest(places, places, 2)
    assert np.mean(rows[:, 1] % 4 == np.arange(400) % 4) > 0.99
    np.testing.assert_array_equal(places, layout.plane(of_groups, seed=420)[0])


def test_memberships_sum_to_log2_of_the_neighbours():
    """Equation of section 3.1, on the one-way memberships."""
    distances = np.array([[0, 0.1, 0.2, 0.3]] * 5, np.float32)
    rows = np.array([[i, *((i + j) % 5 for j in (1, 2, 3))] for i in range(5)])
    graph = layout.fuzzy_graph(distances, rows).toarray()
    # By hand: 1 + w + w² = log2(4), so w = (√5 − 1) / 2; each pair is joined by p + q − p q.
    w = (np.sqrt(5) - 1) / 2
    one_way = np.zeros((5, 5))
    for i in range(5):
        one_way[i, (i + np.array([1, 2, 3])) % 5] = [1, w, w**2]
    np.testing.assert_allclose(graph, one_way + one_way.T - one_way * one_way.T, atol=1e-6)


def test_those_beyond_the_sample_lie_among_their_nearest():
    of_groups = vectors(400)
    places, _ = layout.plane(of_groups[:200], seed=420)
    others = layout.place_on_map(of_groups[200:], of_groups[:200], places)
    _, rows = nearest(others, places, 1)
    assert np.mean(rows[:, 0] % 4 == np.arange(200) % 4) > 0.98
    assert (others.min(axis=0) >= places.min(axis=0) - 1e-5).all()
    assert (others.max(axis=0) <= places.max(axis=0) + 1e-5).all()


@pytest.mark.parametrize(("n", "most"), [(0, 5), (4, 5), (5, 5), (6, 5), (119, 60), (10**7, 50_000)])
def test_the_sample_is_spread_evenly_over_the_order_of_receptors(n, most):
    rows = layout.evenly_spaced(n, most)
    assert len(rows) == min(n, most)
    assert (np.diff(rows) >= 1).all()
    assert ((rows >= 0) & (rows < n)).all()
    if n > most:
        assert np.diff(rows).max() <= np.ceil(n / most)


@pytest.mark.parametrize("n", [0, 1, 2, 49])
def test_few_receptors_are_laid_out_by_pca(n):
    places, method = layout.plane(vectors(n).reshape(n, 16), seed=420)
    assert method == "pca"
    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
