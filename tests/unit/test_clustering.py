"""Neighbours by chance and clusters: against double loops and hand values."""

from itertools import combinations, product

from airrvec.core.errors import InputError
from airrvec.repertoire import clustering

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

RNG = np.random.default_rng(1)
VECTORS = RNG.normal(size=(70, 5)).astype(np.float32)
BACKGROUND = RNG.normal(size=(90, 5)).astype(np.float32)


@pytest.mark.parametrize("chance", [0.25, 0.5, 1.0])
def test_the_radius_is_a_quantile_of_all_distances(chance):
    radius = clustering.radius_by_chance(VECTORS, BACKGROUND, chance)
    distances = np.sort(cdist(VECTORS, BACKGROUND).ravel())
    assert radius == pytest.approx(distances[round(chance * 90) - 1], rel=1e-6)
    # As many neighbours by chance, on average, as asked for.
    expected = clustering.neighbourhood(VECTORS, BACKGROUND, radius * 1.000001).expected
    assert expected.mean() == pytest.approx(round(chance * 90) / 90)


def test_too_small_a_background_places_no_radius():
    with pytest.raises(InputError, match=r"90 background receptors .* 2000 are needed"):
        clustering.radius_by_chance(VECTORS, BACKGROUND, 0.01)


def test_neighbours_are_those_of_a_double_loop():
    found = clustering.neighbourhood(VECTORS, BACKGROUND, 1.7)
    near = cdist(VECTORS, VECTORS) <= 1.7
    np.fill_diagonal(near, False)
    assert (found.graph.toarray() == near).all()
    assert (found.degrees == near.sum(axis=1)).all()
    by_chance = (cdist(VECTORS, BACKGROUND) <= 1.7).sum(axis=1) * 70 / 90
    np.testing.assert_allclose(found.expected, by_chance)


def graph(n: int, edges) -> sparse.csr_array:
    matrix = np.zeros((n, n), np.float32)
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return sparse.csr_array(matrix)


# Cliques of five and of four, joined by one edge; a pair; two alone.
CLIQUES = [*combinations(range(1, 6), 2), *combinations(range(6, 10), 2), (5, 6), (10, 11)]


def test_components_and_communities():
    joined = graph(13, CLIQUES)
    assert clustering.assign_clusters(joined, "components").tolist() == [-1, *[0] * 9, 1, 1, -1]
    assert (clustering.assign_clusters(joined) == clustering.assign_clusters(joined, "components")).all()


@pytest.mark.parametrize(("size", "clusters"), [(31, [62]), (32, [32, 32])])
def test_one_edge_joins_two_cliques_of_up_to_a_thousand_pairs(size, clusters):
    """One edge is more than RESOLUTION of 31² pairs, and less than that of 32²."""
    assert 31**2 < 1 / clustering.RESOLUTION < 32**2
    cliques = [*combinations(range(size), 2), *combinations(range(size, 2 * size), 2), (0, size)]
    label = clustering.assign_clusters(graph(2 * size, cliques))
    assert np.bincount(label).tolist() == clusters


def test_communities_do_not_depend_on_other_components():
    """A hundred copies of a graph have the clusters of the graph; those of maximal modularity would merge."""
    size = 40
    edges = [*combinations(range(size), 2), *combinations(range(size, 2 * size), 2), (0, size)]
    once = graph(2 * size, edges)
    often = sparse.csr_array(sparse.kron(sparse.eye_array(100), once))
    assert np.bincount(clustering.assign_clusters(once)).tolist() == [size] * 2
    assert np.bincount(clustering.assign_clusters(often)).tolist() == [size] * 200


def test_communities_do_not_depend_on_receptors_without_neighbours(monkeypatch):
    """Communities at this resolution have many equally good partitions, of which the seed chooses."""
    monkeypatch.setattr(clustering, "RESOLUTION", 0.2)
    rng = np.random.default_rng(3)
    edges = [pair for pair in combinations(range(80), 2) if rng.random() < 0.1]
    place = np.sort(rng.choice(1000, 80, replace=False))
    label = clustering.assign_clusters(graph(1000, [(place[i], place[j]) for i, j in edges]))
    assert (label[place] == clustering.assign_clusters(graph(80, edges))).all()
    assert (np.delete(label, place) == -1).all()
    assert label.max() > 5


@settings(deadline=None, max_examples=40)
@given(st.sets(st.sampled_from([*combinations(range(9), 2)])), st.sampled_from([0.15, 0.3, 0.6]))
def test_no_move_and_no_merger_raises_the_quality_of_communities(edges, resolution):
    """What the Leiden algorithm guarantees (Traag et al. 2019, table 1)."""
    found = graph(9, edges)

    def quality(label):
        together = np.triu(np.equal.outer(label, label), 1)
        return (found.toarray()[together] - resolution).sum()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clustering, "RESOLUTION", resolution)
        label = clustering.assign_clusters(found)
    label = np.where(label < 0, 10 + np.arange(9), label)
    best = quality(label) + 1e-6
    for receptor, target in product(range(9), {*label.tolist(), 20}):
        assert quality(np.where(np.arange(9) == receptor, target, label)) <= best
    for first, second in combinations({*label.tolist()}, 2):
        assert quality(np.where(label == first, second, label)) <= best


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=25))
def test_communities_lie_within_components(edges):
    found = graph(12, [(i, j) for i, j in edges if i != j])
    components, communities = (
        clustering.assign_clusters(found, method) for method in clustering.METHODS[::-1]
    )
    assert ((communities == -1) | (components >= 0)).all()
    for number in range(communities.max() + 1):
        assert len(set(components[communities == number])) == 1
    sizes = np.bincount(communities[communities >= 0]) if (communities >= 0).any() else np.array([2])
    assert (np.diff(sizes) <= 0).all()
    assert sizes.min() >= 2
    assert (clustering.assign_clusters(found, "leiden") == communities).all()


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_the_centre_has_the_least_sum_of_squares(seed):
    vectors = np.random.default_rng(seed).normal(size=(9, 4)).astype(np.float32)
    assert clustering.medoid(vectors) == (cdist(vectors, vectors) ** 2).sum(axis=1).argmin()


def test_the_name_of_a_cluster_is_that_of_its_members():
    assert clustering.cluster_id(["b", "a"]) == clustering.cluster_id(["a", "b"])
    assert clustering.cluster_id(["a", "b"]) != clustering.cluster_id(["a", "b", "c"])
