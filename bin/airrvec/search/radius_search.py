"""
All pairs of vectors within a radius: exact, and most pairs are excluded without computing their distance.

Vectors are grouped by the nearest of some centres. Cells of two centres, and within them single rows, are
excluded if they are too far apart along the line of the centres; pairs, if short vectors of few dimensions
are (`airrvec.search.joining`). The smaller the radius, the fewer distances are computed.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from airrvec.core.runtime import in_threads
from airrvec.search import joining, neighbours
from airrvec.search.lower_bounds import ROUNDING, lower_bounds

MOST_CELLS, CELL = 4000, 1000  # cells, and vectors of a cell where there are fewer of them
SEED = 420  # of what changes the time, never the result


def within(
    queries: np.ndarray, references: np.ndarray, radius: float, *, threads: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return all references within a radius of each query.

    Parameters
    ----------
    queries, references : ndarray of float32, shape (n, d) and (m, d)
        As for `airrvec.search.neighbours.nearest`.
    radius : float
        Largest Euclidean distance, inclusive.
    threads : int
        Number of CPU threads.

    Returns
    -------
    offsets : ndarray of int64, shape (n + 1,)
        The neighbours of query i are at ``offsets[i]`` to ``offsets[i + 1]``.
    rows : ndarray of int64
        Rows of ``references``, ascending for each query.
    distances : ndarray of float32
        Euclidean distances.
    """
    found = list(join(queries, references, radius, threads=threads))
    return _sorted(found, (len(queries), len(references)))


def pairs_within(
    vectors: np.ndarray, radius: float, *, threads: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return each pair of different vectors within a radius once.

    Returns
    -------
    first, second : ndarray of int64, shape (n_pairs,)
        Rows of ``vectors``, ``first`` below ``second``; sorted by both.
    distances : ndarray of float32, shape (n_pairs,)
    """
    found = [
        (np.sort(pairs, axis=1), distances)
        for pairs, distances in join(vectors, None, radius, threads=threads)
    ]
    offsets, rows, distances = _sorted(found, (len(vectors), len(vectors)))
    return np.repeat(np.arange(len(vectors)), np.diff(offsets)), rows, distances


def join(
    queries: np.ndarray, references: np.ndarray | None, radius: float, *, threads: int = 1
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """
    Yield the pairs within a radius, cell by cell.

    Parameters
    ----------
    queries, references, radius, threads
        As for `within`. Without references, each pair of two queries is yielded once.

    Yields
    ------
    pairs : ndarray of int64, shape (n, 2)
        Rows of the query and of the reference, in no particular order.
    distances : ndarray of float32, shape (n,)
    """
    same = references is None
    found = [neighbours.finite(vectors) for vectors in ([queries] if same else [queries, references])]
    usable = [rows for rows, _ in found]
    parts = [np.ascontiguousarray(vectors, np.float32) for _, vectors in found]
    fewest = min(len(part) for part in parts)
    if not fewest:
        return
    centres = parts[-1][:: -(-len(parts[-1]) // min(MOST_CELLS, -(-fewest // CELL)))]
    bounds = lower_bounds(parts[0], parts[-1], radius, seed=SEED)
    sides = [_side(part, centres, bounds, threads) for part in parts]
    longest = max(float(np.einsum("nd,nd->n", part, part).max()) for part in parts)
    rounding = ROUNDING * longest

    def products(side: joining.Side, cell: int) -> np.ndarray:
        return centres @ side.vectors[side.rows[side.starts[cell] : side.starts[cell + 1]]].T

    leads = np.empty((len(centres), len(centres)), np.float32)
    for _ in in_threads(
        lambda cell: joining.least_leads(products(sides[-1], cell), cell, leads[cell]),
        range(len(centres)),
        threads,
    ):
        pass

    def search(cell: int) -> tuple[np.ndarray, np.ndarray]:
        gaps = np.sqrt(((centres - centres[cell]) ** 2).sum(axis=1))
        reach = (radius * gaps + rounding).astype(np.float32)
        limit = radius**2 + 4 * rounding
        return joining.join(
            cell,
            sides[0],
            sides[-1],
            same,
            products(sides[0], cell),
            leads,
            centres,
            reach,
            np.float32(radius),
            limit,
        )

    for pairs, distances in in_threads(search, range(len(centres)), threads):
        yield np.stack([usable[0][pairs[:, 0]], usable[-1][pairs[:, 1]]], axis=1), distances


def _side(vectors, centres, bounds, threads: int) -> joining.Side:
    """Return vectors grouped by their nearest centre."""
    _, cell = neighbours.nearest(vectors, centres, 1, threads=threads)
    rows = np.argsort(cell[:, 0], kind="stable")
    starts = np.searchsorted(cell[rows, 0], np.arange(len(centres) + 1))
    return joining.Side(vectors, bounds.short(vectors)[rows], rows, starts)


def _sorted(found, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs sorted by both rows: offsets of the first ones, second ones, distances."""
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(pairs for pairs, _ in found)])
    distances = np.concatenate([np.empty(0, np.float32), *(distances for _, distances in found)])
    graph = sparse.coo_array((distances, (pairs[:, 0], pairs[:, 1])), shape).tocsr()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
