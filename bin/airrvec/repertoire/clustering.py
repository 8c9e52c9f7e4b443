"""
Receptors that are nearer to each other than chance explains, as clusters.

Two receptors are neighbours within a radius. The radius is that at which a receptor would have a given
number of neighbours, on average, were the run's receptors random ones: background receptors about it are
counted, and scaled to the number of the run's.
"""

import hashlib
import random
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from airrvec.core.errors import InputError
from airrvec.search import neighbours

METHODS = ("leiden", "components")
MIN_PAIRS = 20  # of a receptor and a background receptor, that make the radius

_UNCLUSTERED = -1


@dataclass(frozen=True)
class Neighbourhood:
    """
    Which receptors are neighbours.

    Attributes
    ----------
    radius : float
        Euclidean distance.
    graph : csr_array of float32, shape (n, n)
        1 for each pair of neighbours, symmetric, nobody being a neighbour of itself.
    expected : ndarray of float64, shape (n,)
        Neighbours of each receptor by chance: those among the background, times the number of receptors
        over that of the background.
    """

    radius: float
    graph: sparse.csr_array
    expected: np.ndarray

    @property
    def degrees(self) -> np.ndarray:
        """Neighbours of each receptor, shape (n,)."""
        return np.diff(self.graph.indptr)


def radius_by_chance(
    vectors: np.ndarray, background: np.ndarray, chance: float, *, threads: int = 1
) -> float:
    """
    The radius within which the receptors have, on average, ``chance`` neighbours by chance.

    With n receptors and m background receptors it is the distance below which chance · m of the n · m pairs
    of one of each lie.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        Without NaN.
    background : ndarray of float32, shape (m, d)
        Without NaN.
    chance : float
        Above 0, 1 at most.
    threads : int
        Of the processor.

    Raises
    ------
    InputError
        If chance · m is below `MIN_PAIRS`: too few pairs to place the radius.
    """
    n_pairs = round(chance * len(background))
    if n_pairs < MIN_PAIRS:
        raise InputError(
            f"{len(background)} background receptors cannot say where {chance:g} neighbours come by chance:"
            f" {MIN_PAIRS / chance:.0f} are needed",
            fix="Raise --cluster_chance, or give more receptors as --background",
        )
    # The nearest receptor of each background receptor makes pairs enough: the radius is within theirs.
    nearest, _ = neighbours.nearest(background, vectors, 1, threads=threads)
    limit = np.partition(nearest[:, 0], n_pairs - 1)[n_pairs - 1]
    _, _, distances = neighbours.within(background, vectors, float(limit), threads=threads)
    return float(np.partition(distances, n_pairs - 1)[n_pairs - 1])


def neighbourhood(
    vectors: np.ndarray, background: np.ndarray, radius: float, *, threads: int = 1
) -> Neighbourhood:
    """
    Neighbours within a radius, found and expected.

    Parameters
    ----------
    vectors, background : ndarray of float32, shape (n, d) and (m, d)
        Without NaN.
    """
    n = len(vectors)
    offsets, columns, _ = neighbours.within(vectors, vectors, radius, threads=threads)
    rows = np.repeat(np.arange(n), np.diff(offsets))
    once = rows < columns
    half = sparse.coo_array((np.ones(once.sum(), np.float32), (rows[once], columns[once])), (n, n))
    to_background, _, _ = neighbours.within(vectors, background, radius, threads=threads)
    expected = np.diff(to_background) * (n / max(len(background), 1))
    return Neighbourhood(radius, (half + half.T).tocsr(), expected)


def clusters(graph: sparse.csr_array, method: str = "leiden", *, seed: int = 420) -> np.ndarray:
    """
    Clusters of at least two receptors.

    Parameters
    ----------
    graph : csr_array, shape (n, n)
        As in `Neighbourhood`.
    method : {"leiden", "components"}
        Communities of greatest modularity by the Leiden algorithm (Traag et al. 2019, Scientific Reports
        9, 5233), or connected components.
    seed : int
        Of the Leiden algorithm.

    Returns
    -------
    ndarray of int64, shape (n,)
        Number of the cluster, the largest first; -1 of a receptor that is in none.
    """
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


def _leiden(graph: sparse.csr_array, seed: int) -> np.ndarray:
    import igraph

    pairs = np.stack(sparse.triu(graph).nonzero(), axis=1)
    # igraph draws from a generator of the whole process.
    igraph.set_random_number_generator(random.Random(seed))  # noqa: S311
    communities = igraph.Graph(graph.shape[0], pairs.tolist()).community_leiden("modularity", n_iterations=-1)
    return np.array(communities.membership, np.int64)


def centre(vectors: np.ndarray) -> int:
    """
    Row of the medoid: the vector from which the squared distances to all others sum to the least.

    It is the one nearest to the mean, as Σ|x − y|² = n|x − mean|² + a constant. The first of equal ones.
    """
    apart = ((vectors - vectors.mean(axis=0, dtype=np.float64)) ** 2).sum(axis=1)
    return int(np.argmin(apart.round(9)))


def cluster_id(receptor_ids: list[str]) -> str:
    """Name of a cluster by its members: equal in all runs in which it has these receptors and no others."""
    return hashlib.sha256("\n".join(sorted(receptor_ids)).encode()).hexdigest()[:16]
