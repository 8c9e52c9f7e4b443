"""
Clusters of receptors that are more similar to each other than expected by chance.

Two receptors are neighbours if their distance is within a radius. At this radius, receptors have a given mean
number of neighbours by chance: the number of background receptors within the radius, scaled to the size of
the run.
"""

import hashlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from airrvec.core.errors import InputError, require_choice
from airrvec.core.progress import step
from airrvec.core.settings import SETTINGS
from airrvec.core.terminal import counted
from airrvec.search import neighbours, radius_search

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

METHODS = SETTINGS["cluster_method"].choices
MIN_PAIRS = 20  # receptor-background pairs that are needed to set the radius
# Share of the pairs of two groups that must be neighbours for the groups to be one community.
RESOLUTION = 0.001

_FIRST_PART, _STEP = 20_000, 8  # receptors of the first part, and how many times as many the next one has
_UNCLUSTERED = -1


@dataclass(frozen=True)
class Neighbourhood:
    """
    Neighbour graph of receptors.

    Attributes
    ----------
    radius : float
        Euclidean distance.
    graph : csr_array of float32, shape (n, n)
        1 for each pair of neighbours; symmetric, with an empty diagonal.
    expected : ndarray of float64, shape (n,)
        Neighbours of each receptor expected by chance: its neighbours in the background, scaled by the
        number of receptors over the number of background receptors.
    """

    radius: float
    graph: sparse.csr_array
    expected: np.ndarray

    @cached_property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of each receptor, shape (n,)."""
        return np.diff(self.graph.indptr)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return arrays from which the method `read` makes the same."""
        parts = {"indptr": self.graph.indptr, "indices": self.graph.indices}
        return {"radius": np.float64(self.radius), "expected": self.expected, **parts}

    @classmethod
    def read(cls, arrays: Mapping[str, np.ndarray]) -> "Neighbourhood":
        """Return the neighbourhood that the method `arrays` described."""
        ones = np.ones(len(arrays["indices"]), np.float32)
        expected = arrays["expected"]
        graph = sparse.csr_array((ones, arrays["indices"], arrays["indptr"]), (len(expected), len(expected)))
        return cls(float(arrays["radius"]), graph, expected)


@step("radius of neighbours")
def radius_by_chance(
    vectors: np.ndarray, background: np.ndarray, chance: float, *, threads: int = 1
) -> float:
    """
    Return the radius at which receptors have, on average, ``chance`` neighbours by chance.

    With n receptors and m background receptors, it is the distance below which chance · m of the n · m
    receptor-background pairs lie.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        Without NaN.
    background : ndarray of float32, shape (m, d)
        Without NaN.
    chance : float
        Mean number of neighbours by chance; above 0, at most 1.
    threads : int
        Number of threads.

    Raises
    ------
    InputError
        If chance · m is below `MIN_PAIRS`: too few pairs to set the radius.
    """
    n_pairs = round(chance * len(background))
    if n_pairs < MIN_PAIRS:
        n = counted(len(background), "background receptor is", "background receptors are")
        raise InputError(
            f"{n} too few to find the radius of {chance:g} neighbours by chance:"
            f" {MIN_PAIRS / chance:.0f} are needed",
            fix="Raise --cluster_chance (of the command: --chance), or give more receptors as --background",
        )
    # The pairs of a part of the receptors give an upper bound for all, which excludes most other pairs.
    step = 1
    while len(vectors) > step * _FIRST_PART:
        step *= _STEP
    nearest, _ = neighbours.nearest(background, vectors[::step], 1, threads=threads)
    distances = nearest[:, 0]
    while step:
        limit = float(np.partition(distances, n_pairs - 1)[n_pairs - 1])
        _, _, distances = radius_search.within(background, vectors[::step], limit, threads=threads)
        step //= _STEP
    return float(np.partition(distances, n_pairs - 1)[n_pairs - 1])


@step("neighbours within the radius")
def neighbourhood(
    vectors: np.ndarray, background: np.ndarray, radius: float, *, threads: int = 1
) -> Neighbourhood:
    """
    Return the observed and expected neighbours within a radius.

    Parameters
    ----------
    vectors, background : ndarray of float32, shape (n, d) and (m, d)
        Without NaN.
    """
    n = len(vectors)
    first, second, _ = radius_search.pairs_within(vectors, radius, threads=threads)
    half = sparse.coo_array((np.ones(len(first), np.float32), (first, second)), (n, n))
    near = np.zeros(n, np.int64)
    for pairs, _ in radius_search.join(vectors, background, radius, threads=threads):
        np.add.at(near, pairs[:, 0], 1)
    return Neighbourhood(radius, (half + half.T).tocsr(), near * (n / max(len(background), 1)))


def assign_clusters(graph: sparse.csr_array, method: str = "leiden", *, seed: int = 420) -> np.ndarray:
    """
    Assign receptors to clusters of at least two receptors.

    Parameters
    ----------
    graph : csr_array, shape (n, n)
        As in `Neighbourhood`.
    method : {"leiden", "components"}
        Communities by the Leiden algorithm (Traag et al. 2019, Scientific Reports 9, 5233), or connected
        components. Communities maximise the number of neighbouring pairs within them minus `RESOLUTION`
        times the number of all pairs within them: the constant Potts model (Traag et al. 2011, Physical
        Review E 84, 016114). Unlike those of maximal modularity, they do not depend on other components.
    seed : int
        Seed of the Leiden algorithm.

    Returns
    -------
    ndarray of int64, shape (n,)
        Cluster number, largest cluster first; -1 for an unclustered receptor.

    Raises
    ------
    InputError
        If there is no such method.
    """
    require_choice("method", method, METHODS)
    if method == "components":
        _, label = connected_components(graph, directed=False)
    else:
        label = _leiden(graph, seed)
    sizes = np.bincount(label, minlength=1)
    first = np.full(len(sizes), len(label))
    np.minimum.at(first, label, np.arange(len(label)))
    order = np.lexsort((first, -sizes))
    number = np.empty(len(sizes), np.int64)
    number[order] = np.arange(len(sizes))
    number[sizes < 2] = _UNCLUSTERED
    return number[label]


@step("Leiden communities")
def _leiden(graph: sparse.csr_array, seed: int) -> np.ndarray:
    import igraph

    connected = np.flatnonzero(np.diff(graph.indptr))  # igraph needs 0.4 kB for each vertex
    pairs = np.stack(sparse.triu(graph[connected][:, connected]).nonzero(), axis=1)
    # igraph has one random number generator for the whole process.
    igraph.set_random_number_generator(random.Random(seed))  # noqa: S311 - no secret
    communities = igraph.Graph(len(connected), pairs.astype(np.int64)).community_leiden(
        "CPM", resolution=RESOLUTION, n_iterations=-1
    )
    label = len(connected) + np.arange(graph.shape[0])
    label[connected] = communities.membership
    return label


def members(label: np.ndarray) -> list[np.ndarray]:
    """Return the rows of the members of each cluster, ascending, by the numbers of `assign_clusters`."""
    rows = np.flatnonzero(label >= 0)
    rows = rows[np.argsort(label[rows], kind="stable")]
    return np.split(rows, np.flatnonzero(np.diff(label[rows])) + 1) if len(rows) else []


def medoid(vectors: np.ndarray) -> int:
    """
    Return the row of the medoid: the vector with the smallest sum of squared distances to all others.

    It is the vector nearest to the mean, because Σ|x − y|² = n|x − mean|² + constant. Ties: first row.

    Examples
    --------
    >>> medoid(np.array([[0.0], [1.0], [5.0]]))
    1
    """
    squared_distances = ((vectors - vectors.mean(axis=0, dtype=np.float64)) ** 2).sum(axis=1)
    return int(np.argmin(squared_distances.round(9)))


def cluster_id(receptor_ids: list[str]) -> str:
    """Return the cluster's name, a hash of its members: equal in all runs with exactly these members."""
    return hashlib.sha256("\n".join(sorted(receptor_ids)).encode()).hexdigest()[:16]
