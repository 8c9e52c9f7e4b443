"""
Clusters of a graph for `clustering_constructions`.

Each function of `PARTITIONS` takes a `Graph`, and returns a label of each receptor: negative, or shared by no
other receptor, if it is in no cluster.
"""

import random
from collections.abc import Callable
from functools import cached_property, partial

import igraph
import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

CLOSE = 0.05  # weight of an edge at the radius; an edge between the nearest receptors has 1 more


class Graph:
    """
    Neighbour graph of n receptors.

    Attributes
    ----------
    rows, columns : ndarray of int, shape (n_edges,)
        Receptors of each edge, the lower number first.
    scores : ndarray of float32, shape (n_edges,)
    radius : float
        Largest score of neighbours.
    """

    def __init__(self, n: int, rows, columns, scores, radius: float, seed: int):
        self.n, self.rows, self.columns, self.scores = n, rows, columns, scores
        self.radius, self.seed = radius, seed
        nearest = scores.min(initial=radius)
        self.weights = (radius - scores) / max(radius - nearest, 1e-9) + CLOSE

    @classmethod
    def within(cls, scores: np.ndarray, radius: float, seed: int) -> "Graph":
        """The graph of all pairs within a radius; ``scores``, (n, n), is symmetric, its diagonal infinite."""
        rows, columns = np.nonzero(scores <= radius)
        rows, columns = rows[rows < columns], columns[rows < columns]
        return cls(len(scores), rows, columns, scores[rows, columns], radius, seed)

    def copies(self, k: int) -> "Graph":
        """The graph of k unconnected copies of this one."""
        shift = np.repeat(np.arange(k) * self.n, len(self.rows))
        ends = [np.tile(end, k) + shift for end in (self.rows, self.columns)]
        return Graph(k * self.n, *ends, np.tile(self.scores, k), self.radius, self.seed)

    @cached_property
    def degrees(self) -> np.ndarray:
        return np.bincount(np.concatenate([self.rows, self.columns]), minlength=self.n)

    @cached_property
    def igraph(self) -> igraph.Graph:
        return igraph.Graph(self.n, np.stack([self.rows, self.columns], axis=1).tolist())

    @cached_property
    def matrix(self) -> sparse.csr_array:
        return self.matrix_of(np.ones(len(self.rows), bool))

    def matrix_of(self, kept: np.ndarray) -> sparse.csr_array:
        rows, columns = self.rows[kept], self.columns[kept]
        half = sparse.coo_array((np.ones(len(rows), np.float32), (rows, columns)), (self.n, self.n))
        return (half + half.T).tocsr()

    @cached_property
    def overlaps(self) -> np.ndarray:
        """Share of the neighbours of each edge's receptor with fewer that are neighbours of both."""
        common = (self.matrix @ self.matrix)[self.rows, self.columns]
        fewer = np.minimum(self.degrees[self.rows], self.degrees[self.columns])
        return np.asarray(common).ravel() / np.maximum(fewer - 1, 1)


def components(graph: Graph) -> np.ndarray:
    return connected_components(graph.matrix, directed=False)[1]


def leiden(graph: Graph, objective: str, resolution: float, weighted: bool = False) -> np.ndarray:
    # igraph has one random number generator for the whole process.
    igraph.set_random_number_generator(random.Random(graph.seed))
    found = graph.igraph.community_leiden(
        objective,
        weights=graph.weights.tolist() if weighted else None,
        resolution=resolution,
        n_iterations=-1,
    )
    return np.array(found.membership, np.int64)


def infomap(graph: Graph) -> np.ndarray:
    igraph.set_random_number_generator(random.Random(graph.seed))
    return np.array(graph.igraph.community_infomap(trials=1).membership, np.int64)


def without_weak_edges(graph: Graph, overlap: float) -> np.ndarray:
    """Components of the edges whose receptors share enough neighbours, or one of which has at most two."""
    few = np.minimum(graph.degrees[graph.rows], graph.degrees[graph.columns]) <= 2
    return connected_components(graph.matrix_of(few | (graph.overlaps >= overlap)), directed=False)[1]


def mutual(graph: Graph, k: int) -> np.ndarray:
    """Components of the edges that are among the k nearest of both receptors."""
    ends = np.concatenate([graph.rows, graph.columns])
    order = np.lexsort((np.concatenate([graph.scores] * 2), ends))
    starts = np.concatenate([[0], np.cumsum(graph.degrees)])
    rank = np.empty(len(ends), np.int64)
    rank[order] = np.arange(len(ends)) - starts[ends[order]]
    first, second = np.split(rank < k, 2)
    return connected_components(graph.matrix_of(first & second), directed=False)[1]


def dense(graph: Graph, least: int) -> np.ndarray:
    """Components of receptors with many neighbours; others join the nearest, or each other (DBSCAN)."""
    core = graph.degrees >= least
    both = core[graph.rows] & core[graph.columns]
    neither = ~core[graph.rows] & ~core[graph.columns]
    kept = both | neither
    border = np.flatnonzero(~kept)
    outer = np.where(core[graph.rows[border]], graph.columns[border], graph.rows[border])
    order = np.lexsort((graph.scores[border], outer))
    _, nearest = np.unique(outer[order], return_index=True)
    kept[neither & (np.isin(graph.rows, outer) | np.isin(graph.columns, outer))] = False
    kept[border[order[nearest]]] = True
    return connected_components(graph.matrix_of(kept), directed=False)[1]


def merged(graph: Graph, first: Callable[[Graph], np.ndarray], share: float) -> np.ndarray:
    """Clusters joined where a share of the smaller one's receptors has neighbours in the other."""
    label = np.unique(first(graph), return_inverse=True)[1]
    sizes = np.bincount(label)
    cross = label[graph.rows] != label[graph.columns]
    rows, columns = graph.rows[cross], graph.columns[cross]
    # (receptor, cluster of its neighbour), each once
    pairs = np.unique(
        np.stack([np.concatenate([rows, columns]), label[np.concatenate([columns, rows])]]), axis=1
    )
    own = label[pairs[0]]
    smaller = sizes[own] <= sizes[pairs[1]]
    links, counts = np.unique(np.stack([own[smaller], pairs[1][smaller]]), axis=1, return_counts=True)
    links = links[:, counts >= share * sizes[links[0]]]
    joined = sparse.coo_array((np.ones(links.shape[1]), links), (len(sizes), len(sizes)))
    return connected_components(joined, directed=False)[1][label]


modularity, potts = partial(leiden, objective="modularity"), partial(leiden, objective="CPM")

# The first grid, and what was added after its results had been seen.
FIRST: dict[str, Callable[[Graph], np.ndarray]] = {
    "components": components,
    **{f"modularity {r:g}": partial(modularity, resolution=r) for r in (1, 0.5, 0.25, 0.1)},
    **{f"weighted {r:g}": partial(modularity, resolution=r, weighted=True) for r in (1, 0.5, 0.25)},
    **{f"Potts {r:g}": partial(potts, resolution=r) for r in (0.003, 0.01, 0.03, 0.1, 0.3)},
    "infomap": infomap,
    **{f"overlap {t:g}": partial(without_weak_edges, overlap=t) for t in (0.1, 0.25, 0.5)},
    **{f"mutual {k}": partial(mutual, k=k) for k in (5, 10, 20)},
    **{f"dense {k}": partial(dense, least=k) for k in (3, 5)},
    **{
        f"merged {share:g}": partial(merged, first=partial(modularity, resolution=1), share=share)
        for share in (0.1, 0.25, 0.5)
    },
}
SECOND: dict[str, Callable[[Graph], np.ndarray]] = {
    **{f"modularity {r:g}": partial(modularity, resolution=r) for r in (0.05, 0.02)},
    **{f"Potts {r:g}": partial(potts, resolution=r) for r in (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005)},
    "merged 0.05": partial(merged, first=partial(modularity, resolution=1), share=0.05),
    **{
        f"Potts {r:g} merged {share:g}": partial(merged, first=partial(potts, resolution=r), share=share)
        for r in (0.01, 0.05)
        for share in (0.05, 0.1, 0.2)
    },
}
PARTITIONS = FIRST | SECOND
