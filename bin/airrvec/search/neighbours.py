"""
Nearest neighbours by Euclidean distance, block by block: never all distances at once.

A block of queries is compared with a block of references by one product of matrices; only those that can
be among the nearest are looked at again, and their distances computed from differences, as a product
loses digits where vectors are nearly equal. Above a size the references are divided into cells, and a
block of queries sees the cells about it alone: that is approximate, and its recall is measured.
"""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from airrvec.search.index import Index, index_of, one_cell

QUERIES, REFERENCES = 256, 2048  # a block: 2 MB of distances
MARGIN = 8  # more than k are looked at again
APPROXIMATE_ABOVE = 10**12  # pairs of a query and a reference
N_PROBED, N_MEASURED = 16, 1000  # cells that a query asks for; queries whose recall is measured

_NONE = np.int64(-1)


def nearest(
    queries: np.ndarray,
    references: np.ndarray,
    k: int,
    *,
    threads: int = 1,
    device: str = "cpu",
    approximate_above: float = APPROXIMATE_ABOVE,
    seed: int = 420,
) -> tuple[np.ndarray, np.ndarray]:
    """
    The k nearest references of each query.

    Parameters
    ----------
    queries : ndarray of float32, shape (n, d)
        Rows with NaN have no neighbours.
    references : ndarray of float32, shape (m, d)
        Rows with NaN are nobody's neighbour.
    k : int
        How many.
    threads : int
        Of the processor.
    device : {"cpu", "gpu"}
        Where distances are computed; on a GPU the search is exact at any size.
    approximate_above : float
        Pairs, n · m, above which the search is approximate; ``inf`` keeps it exact.
    seed : int
        Of the cells, and of the queries whose recall is measured.

    Returns
    -------
    distances : ndarray of float32, shape (n, k)
        Euclidean, ascending; infinite where there is no further reference.
    rows : ndarray of int64, shape (n, k)
        Of ``references``; -1 where there is no further one. Of equal distances the lower row is first.
    """
    usable, usable_references = _usable(queries), _usable(references)
    distances = np.full((len(queries), k), np.inf, np.float32)
    rows = np.full((len(queries), k), _NONE)
    if len(usable) and len(usable_references):
        found = min(k, len(usable_references))
        if device == "gpu":
            of_used = _nearest_torch(queries[usable], references[usable_references], found)
        elif len(usable) * len(usable_references) <= approximate_above:
            of_used = _nearest(queries[usable], one_cell(references[usable_references]), found, threads)
        else:
            index = _cells(references[usable_references], seed=seed, threads=threads)
            of_used = _nearest(queries[usable], index, found, threads)
            _report_recall(queries[usable], index, of_used, seed=seed, threads=threads)
        distances[usable, :found], places = of_used
        rows[usable, :found] = usable_references[places]
    return distances, rows


def within(
    queries: np.ndarray, references: np.ndarray, radius: float, *, threads: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    All references within a radius of each query, exact.

    Parameters
    ----------
    queries, references : ndarray of float32, shape (n, d) and (m, d)
        As for `nearest`.
    radius : float
        Euclidean; a reference at this distance is within.
    threads : int
        Of the processor.

    Returns
    -------
    offsets : ndarray of int64, shape (n + 1,)
        The neighbours of query i are those from ``offsets[i]`` to ``offsets[i + 1]``.
    rows : ndarray of int64
        Of ``references``, ascending for each query.
    distances : ndarray of float32
    """
    usable, usable_references = _usable(queries), _usable(references)
    index = one_cell(references[usable_references])
    used = np.ascontiguousarray(queries[usable], np.float32)

    def of_block(block: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # Rounding of the product must lose none.
        limit = (radius * 1.001 + 1e-3) ** 2 - (used[block] ** 2).sum(axis=1)
        pairs = [
            _below(products, limit.astype(np.float32)) + np.array([[0], [first]])
            for first, products in _products(used[block], index, [0])
        ]
        asking, found = np.concatenate([np.empty((2, 0), np.int64), *pairs], axis=1)
        apart = np.linalg.norm(used[block][asking] - index.vectors[found], axis=1)
        order = np.lexsort((found, asking))
        order = order[apart[order] <= radius]
        return asking[order] + block.start, usable_references[found[order]], apart[order]

    parts = list(_in_threads(of_block, len(used), threads))
    empty = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    asking, rows, distances = (np.concatenate(part) for part in zip(empty, *parts, strict=True))
    counts = np.bincount(usable[asking], minlength=len(queries))
    return np.concatenate([[0], np.cumsum(counts)]), rows, distances


def _cells(references: np.ndarray, *, seed: int, threads: int) -> Index:
    """Cells of k-means, of about as many references as there are cells."""
    from sklearn.cluster import MiniBatchKMeans

    n_cells = int(np.sqrt(len(references)))
    means = MiniBatchKMeans(n_cells, batch_size=10_000, max_iter=10, n_init=1, random_state=seed)
    sample = np.random.default_rng(seed).permutation(len(references))[: 100 * n_cells]
    centres = means.fit(references[sample]).cluster_centers_.astype(np.float32)
    _, cell = _nearest(references, one_cell(centres), 1, threads)
    return index_of(references, cell[:, 0], centres)


def _nearest(queries: np.ndarray, index: Index, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Distances and rows, shape (n, k), of vectors without NaN; k is at most the number of references."""
    queries = np.ascontiguousarray(queries, np.float32)
    several = len(index.centres) > 1
    if several:
        n_probed = min(N_PROBED, len(index.centres))
        _, probed = _nearest(queries, one_cell(index.centres), n_probed, threads)
        order = np.argsort(probed[:, 0], kind="stable")  # queries of a block ask for the same cells
    else:
        order = np.arange(len(queries))
    n_kept = min(k + MARGIN, len(index.vectors))

    def of_block(block: slice) -> tuple[np.ndarray, np.ndarray]:
        asking = queries[order[block]]
        best = np.full((len(asking), n_kept), np.inf, np.float32)
        places = np.zeros((len(asking), n_kept), np.int64)
        cells = np.unique(probed[order[block]]) if several else [0]
        for first, products in _products(asking, index, cells):
            _keep_least(products, first, best, places)
        apart = np.linalg.norm(asking[:, None] - index.vectors[places], axis=2)
        apart[np.isinf(best)] = np.inf  # the cells hold fewer
        rows = index.rows[places]
        nearest_first = np.lexsort((rows, apart))[:, :k]
        return np.take_along_axis(apart, nearest_first, 1), np.take_along_axis(rows, nearest_first, 1)

    distances, rows = np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
    blocks = range(0, len(queries), QUERIES)
    for start, part in zip(blocks, _in_threads(of_block, len(queries), threads), strict=True):
        distances[order[start : start + QUERIES]], rows[order[start : start + QUERIES]] = part
    return distances, rows


def _products(queries: np.ndarray, index: Index, cells) -> Iterator[tuple[int, np.ndarray]]:
    """Squared distances less q · q of each block of the cells' references, and where it begins."""
    augmented = np.concatenate([queries, np.ones((len(queries), 1), np.float32)], axis=1)
    room = np.empty(len(queries) * REFERENCES, np.float32)
    for cell in cells:
        for first in range(index.starts[cell], index.starts[cell + 1], REFERENCES):
            block = index.augmented[first : min(first + REFERENCES, index.starts[cell + 1])]
            products = room[: len(queries) * len(block)].reshape(len(queries), len(block))
            yield first, np.matmul(augmented, block.T, out=products)


def _in_threads(of_block, n: int, threads: int):
    """``of_block`` of each block of ``n`` queries, in their order."""
    blocks = [slice(start, min(start + QUERIES, n)) for start in range(0, n, QUERIES)]
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
        yield from pool.map(of_block, blocks)


@numba.njit(nogil=True, cache=True, fastmath={"nsz", "nnan"})
def _keep_least(products, first, best, places):
    """Let the least values of each row enter those found before, ascending; ties keep the earlier place."""
    step = 128
    n_kept = best.shape[1]
    for i in range(len(products)):
        row = products[i]
        for start in range(0, len(row), step):
            part = row[start : start + step]
            least = np.float32(np.inf)
            for value in part:
                least = min(least, value)
            if least >= best[i, n_kept - 1]:
                continue
            for j in range(len(part)):
                if part[j] < best[i, n_kept - 1]:
                    at = n_kept - 1
                    while at > 0 and best[i, at - 1] > part[j]:
                        best[i, at] = best[i, at - 1]
                        places[i, at] = places[i, at - 1]
                        at -= 1
                    best[i, at] = part[j]
                    places[i, at] = first + start + j


@numba.njit(nogil=True, cache=True)
def _below(products, limit):
    """Rows and columns of the values that do not exceed their row's limit, shape (2, n)."""
    n = 0
    for i in range(len(products)):
        for value in products[i]:
            n += value <= limit[i]
    pairs = np.empty((2, n), np.int64)
    n = 0
    for i in range(len(products)):
        for j in range(products.shape[1]):
            if products[i, j] <= limit[i]:
                pairs[0, n], pairs[1, n] = i, j
                n += 1
    return pairs


def _nearest_torch(
    queries: np.ndarray, references: np.ndarray, k: int, device: str = "cuda"
) -> tuple[np.ndarray, np.ndarray]:
    """As `_nearest`, exact, where torch computes."""
    import torch

    def on_device(vectors: np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(vectors, np.float32)).to(device)

    of_references = on_device(references)
    squares = (of_references**2).sum(1)
    n_kept = min(k + MARGIN, len(references))
    step = max(1, 2**28 // len(references))  # 1 GB of distances
    parts = []
    for start in range(0, len(queries), step):
        block = on_device(queries[start : start + step])
        places = (squares - 2 * block @ of_references.T).topk(n_kept, largest=False).indices.sort().values
        apart = torch.linalg.vector_norm(block[:, None] - of_references[places], dim=2)
        apart, nearest_first = apart.sort(stable=True)
        parts.append((apart[:, :k].cpu().numpy(), places.gather(1, nearest_first)[:, :k].cpu().numpy()))
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def _report_recall(queries, index: Index, found, *, seed: int, threads: int) -> None:
    """Print how many of the true neighbours of some queries the cells gave."""
    sample = np.random.default_rng(seed).permutation(len(queries))[:N_MEASURED]
    everything = one_cell(index.vectors[np.argsort(index.rows)])
    exact, _ = _nearest(queries[sample], everything, found[0].shape[1], threads)
    recall = (found[0][sample] <= exact[:, -1:] * (1 + 1e-6)).mean()
    print(
        f"approximate neighbours: recall {recall:.3f}, measured on {len(sample):,} queries"
        f" ({len(index.centres):,} cells, {N_PROBED} asked)",
        file=sys.stderr,
        flush=True,
    )


def _usable(vectors: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.isfinite(vectors).all(axis=1))
