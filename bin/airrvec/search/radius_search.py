"""
All pairs of vectors within a radius: exact, and most pairs are excluded without computing their distance.

Vectors are grouped by the nearest of some centres. Rows of two cells, and blocks of pairs of them, are
excluded if they are too far apart along the line of the centres (`airrvec.search.leads`); pairs, if short
vectors of few dimensions are (`airrvec.search.joining`). The smaller the radius, the fewer distances are
computed.
"""

from collections.abc import Iterator
from itertools import pairwise

from airrvec.core.runtime import in_threads
from airrvec.search import joining, leads, neighbours
from airrvec.search.lower_bounds import ROUNDING, lower_bounds

import numpy as np
from scipy import sparse

MOST_CELLS, CELL = 4000, 1000  # cells, and vectors of a cell where there are fewer of them
MOST_ROWS, LEAST_BLOCKS = 131_072, 8  # vectors of a block, and blocks where there are fewer vectors
ROW = 8  # blocks of references that are compared with a block of queries in turn
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
        Largest Euclidean distance, inclusive; at least 0.
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
    Yield the pairs within a radius, block by block.

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
    if not radius >= 0:
        raise ValueError(f"the radius is {radius}, and must be at least 0")
    same = references is None
    neighbours.check_widths(queries, queries if same else references)
    found = [neighbours.finite(vectors) for vectors in ([queries] if same else [queries, references])]
    usable = [rows for rows, _ in found]
    parts = [np.ascontiguousarray(vectors, np.float32) for _, vectors in found]
    fewest = min(len(part) for part in parts)
    if not fewest:
        return
    longest = max(float(np.einsum("nd,nd->n", part, part).max()) for part in parts)
    radius = min(radius, 2.1 * np.sqrt(longest))  # no pair is farther apart; kernels need a finite radius
    centres = parts[-1][:: -(-len(parts[-1]) // min(MOST_CELLS, -(-fewest // CELL)))]
    bounds = lower_bounds(parts[0], parts[-1], radius, seed=SEED)
    size = min(MOST_ROWS, max(CELL, -(-max(map(len, parts)) // LEAST_BLOCKS)))
    grouped = [_grouped(part, centres, bounds, size, threads) for part in parts]
    (side, blocks), (other_side, other_blocks) = grouped[0], grouped[-1]
    rounding = ROUNDING * longest
    limit = radius**2 + 4 * rounding

    def search(row: tuple[np.ndarray, list[np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
        pieces, others = row
        vectors, found = _vectors(side, pieces), []
        for other_pieces in others:
            apart = centres[pieces[:, 0], None] - centres[other_pieces[:, 0]]
            reach = (radius * np.sqrt((apart**2).sum(axis=2)) + rounding).astype(np.float32)
            block = other_block = _block(side, pieces, vectors, centres[other_pieces[:, 0]])
            if other_pieces is not pieces:
                other_vectors = _vectors(other_side, other_pieces)
                other_block = _block(other_side, other_pieces, other_vectors, centres[pieces[:, 0]])
            found.append(joining.join(block, other_block, same, reach, np.float32(radius), limit))
        return found

    rows = (
        (pieces, other_blocks[begin : begin + ROW])
        for number, pieces in enumerate(blocks)
        for begin in range(number if same else 0, len(other_blocks), ROW)
    )
    for found_of_row in in_threads(search, rows, threads):
        for pairs, distances in found_of_row:
            yield np.stack([usable[0][pairs[:, 0]], usable[-1][pairs[:, 1]]], axis=1), distances


def _grouped(vectors, centres, bounds, size: int, threads: int) -> tuple[joining.Side, list[np.ndarray]]:
    """Return vectors grouped by their nearest centre, and the pieces of blocks of up to ``size`` of them."""
    _, cell = neighbours.nearest(vectors, centres, 1, threads=threads)
    rows = np.argsort(cell[:, 0], kind="stable")
    starts = np.searchsorted(cell[rows, 0], np.arange(len(centres) + 1))
    pieces = [
        (number, begin, min(begin + size, stop))
        for number, (start, stop) in enumerate(pairwise(starts.tolist()))
        for begin in range(start, stop, size)
    ]
    blocks: list[list[tuple]] = [[]]
    for piece in pieces:
        if blocks[-1] and piece[2] - blocks[-1][0][1] > size:
            blocks.append([])
        blocks[-1].append(piece)
    own = leads.own_products(vectors, cell[:, 0], centres)[rows]
    side = joining.Side(vectors, rows, bounds.short(vectors)[rows], own)
    return side, [np.array(block) for block in blocks]


def _vectors(side: joining.Side, pieces: np.ndarray) -> np.ndarray:
    """Return the vectors of a block, in the order of places."""
    return leads.gathered(side.vectors, side.rows[pieces[0, 1] : pieces[-1, 2]])


def _block(side: joining.Side, pieces, vectors, other_centres) -> joining.Block:
    """Return a block with the products that say how far its vectors are from the pieces of another one."""
    places = slice(pieces[0, 1], pieces[-1, 2])
    products = other_centres @ vectors.T
    return joining.Block(pieces, vectors, side.rows[places], side.short[places], side.own[places], products)


def _sorted(found, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs sorted by both rows: offsets of the first ones, second ones, distances."""
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(pairs for pairs, _ in found)])
    distances = np.concatenate([np.empty(0, np.float32), *(distances for _, distances in found)])
    graph = sparse.coo_array((distances, (pairs[:, 0], pairs[:, 1])), shape).tocsr()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
