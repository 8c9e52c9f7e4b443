"""
Nearest neighbours by Euclidean distance, computed in blocks: the full distance matrix is never stored.

Products of queries and references, in float32 or rounded, find the nearest, whose distances are then
computed from differences. Above a size limit the references are divided into cells, and a block of queries is
compared only with the nearest cells: this search is approximate, and its recall is measured.
"""

from dataclasses import dataclass

from airrvec.core.errors import InputError, require_choice
from airrvec.core.runtime import in_threads
from airrvec.core.seeds import numbered_generator
from airrvec.core.terminal import print_warning
from airrvec.model.cpu.kernels import WIDTH, pack_weights
from airrvec.search import rounded
from airrvec.search.collecting import (
    NO_REFERENCE,
    UNDECIDED,
    collect,
    distances_and_rows,
    measure,
    narrow,
    no_references,
)
from airrvec.search.rounded import Rounded

import numpy as np

# --- Index of the nearest-neighbour search: references grouped by cell


@dataclass(frozen=True)
class Index:
    """
    References grouped by cell, cells concatenated. Each cell begins at a multiple of `WIDTH`.

    Attributes
    ----------
    vectors : ndarray of float32, shape (m, d)
        References r by place.
    columns : ndarray of float32, shape (d + 1, m)
        (−2 r, r · r); the product of (q, 1) and a column is the squared distance minus q · q.
    rows : ndarray of int64, shape (m,)
        Row of each place in the original array; -1 in gaps.
    starts : ndarray of int64, shape (n_cells + 1,)
        First place of each cell, and m.
    centres : ndarray of float32, shape (n_cells, d)
        Centre of each cell.
    """

    vectors: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    centres: np.ndarray

    slack = np.float32(0)
    highest = NO_REFERENCE / 2

    def __len__(self) -> int:
        return int(np.count_nonzero(self.rows >= 0))

    @staticmethod
    def packed(queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, 1) in the order in which `collect` reads them, and that all can be compared."""
        return packed(queries), np.ones(len(queries), bool)

    @property
    def largest_cell(self) -> int:
        """Places of the largest cell."""
        return int(np.diff(self.starts).max(initial=0))


def build_index(references: np.ndarray, cell: np.ndarray, centres: np.ndarray) -> Index:
    """Return the index of references, shape (m, d), whose cells, shape (m,), are known."""
    sizes = np.bincount(cell, minlength=len(centres))
    starts = np.concatenate([[0], np.cumsum(-(-sizes // WIDTH) * WIDTH)])
    order = np.argsort(cell, kind="stable")
    place = np.arange(len(order)) + np.repeat(starts[:-1] - np.cumsum(sizes) + sizes, sizes)
    rows = np.full(starts[-1], -1)
    rows[place] = order
    vectors = np.zeros((len(rows), references.shape[1]), np.float32)
    vectors[place] = references[order]
    columns = np.empty((references.shape[1] + 1, len(rows)), np.float32)
    np.multiply(vectors.T, -2, out=columns[:-1])
    columns[-1] = np.einsum("md,md->m", vectors, vectors)
    columns[-1, rows < 0] = NO_REFERENCE
    return Index(vectors, columns, rows, starts, centres)


def single_cell_index(references: np.ndarray) -> Index:
    """Return the index of an exact search."""
    return build_index(references, np.zeros(len(references), np.int64), np.zeros((1, references.shape[1])))


# --- The search

QUERIES = 256  # of a block
MARGIN = 8  # candidates beyond k whose distances are recomputed
SAMPLED = 16  # one strip of so many gives the limits for all others
APPROXIMATE_ABOVE = 10**12  # pairs of a query and a reference
N_PROBED, N_MEASURED = 16, 1000  # cells searched per query; queries used to measure the recall
ROUNDS = 4  # of k-means: ten find .003 more of a store's neighbours, and take three times as long

_NO_ROW = np.int64(-1)
_CHECKED = 2**16  # vectors checked at once
LARGEST = 1e12  # products of larger numbers would reach that of a place without a reference


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
    Return the k nearest references of each query.

    Parameters
    ----------
    queries : ndarray of float32, shape (n, d)
        Rows with NaN have no neighbours.
    references : ndarray of float32, shape (m, d)
        Rows with NaN are never neighbours.
    k : int
        Number of neighbours.
    threads : int
        Number of CPU threads.
    device : {"cpu", "gpu"}
        Device that computes the distances; on a GPU the search is exact at any size.
    approximate_above : float
        Number of pairs, n · m, above which the search is approximate; ``inf`` keeps it exact.
    seed : int
        Seed of the cells and of the sample of queries that measures the recall.

    Returns
    -------
    distances : ndarray of float32, shape (n, k)
        Euclidean, ascending; infinite where references run out.
    rows : ndarray of int64, shape (n, k)
        Rows of ``references``; -1 where references run out. At equal distances the lower row is first.

    Raises
    ------
    ValueError
        If the vectors differ in width.
    InputError
        If a number is not below `LARGEST`, or the device is none of these.

    Examples
    --------
    >>> distances, rows = nearest(np.float32([[0, 0]]), np.float32([[3, 4], [1, 0]]), 2)
    >>> distances.tolist(), rows.tolist()
    ([[1.0, 5.0]], [[1, 0]])
    """
    require_choice("device", device, ("cpu", "gpu"))
    check_widths(queries, references)
    usable, finite_queries = finite(queries)
    usable_references, finite_references = finite(references)
    distances = np.full((len(queries), k), np.inf, np.float32)
    rows = np.full((len(queries), k), _NO_ROW)
    if len(usable) and len(usable_references):
        n_neighbours = min(k, len(usable_references))
        if device == "gpu":
            neighbours = _nearest_torch(finite_queries, finite_references, n_neighbours)
        elif len(usable) * len(usable_references) <= approximate_above:
            neighbours = _nearest(finite_queries, single_cell_index(finite_references), n_neighbours, threads)
        else:
            index = _cells(finite_references, seed=seed, threads=threads)
            neighbours = _nearest(finite_queries, index, n_neighbours, threads)
            _report_recall(finite_queries, index, neighbours, seed=seed, threads=threads)
        if (len(usable), len(usable_references), n_neighbours) == (len(queries), len(references), k):
            return neighbours
        distances[usable, :n_neighbours], places = neighbours
        rows[usable, :n_neighbours] = np.where(places < 0, _NO_ROW, usable_references[places])
    return distances, rows


def cells_of(vectors: np.ndarray, centres: np.ndarray, *, threads: int = 1) -> np.ndarray:
    """Return the cell of each vector, that of the nearest centre; ndarray of int64, shape (n,)."""
    _, rows = nearest(vectors, centres, 1, threads=threads, approximate_above=np.inf)
    return rows[:, 0]


def cell_centres(vectors: np.ndarray, n_cells: int, *, seed: int, threads: int = 1) -> np.ndarray:
    """
    Return the centres of cells by k-means, `ROUNDS` rounds from random vectors.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        At least one.
    n_cells : int
        Number of cells, at most n.
    seed : int
        Seed of the first centres.

    Returns
    -------
    ndarray of float32, shape (n_cells, d)
        A cell that loses all its vectors keeps its centre.
    """
    centres = vectors[numbered_generator(seed).permutation(len(vectors))[:n_cells]].copy()
    for _ in range(ROUNDS):
        cell = cells_of(vectors, centres, threads=threads)
        order = np.argsort(cell, kind="stable")
        numbers, first = np.unique(cell[order], return_index=True)
        sums = np.add.reduceat(vectors[order], first, axis=0, dtype=np.float64)
        counts = np.diff(np.append(first, len(order)))
        centres[numbers] = (sums / counts[:, None]).astype(np.float32)
    return centres


def _cells(references: np.ndarray, *, seed: int, threads: int) -> Index:
    """Return an index of √m k-means cells, of about √m references each."""
    from sklearn.cluster import MiniBatchKMeans

    n_cells = int(np.sqrt(len(references)))
    means = MiniBatchKMeans(n_cells, batch_size=10_000, max_iter=10, n_init=1, random_state=seed)
    sample = numbered_generator(seed).permutation(len(references))[: 100 * n_cells]
    centres = means.fit(references[sample]).cluster_centers_.astype(np.float32)
    _, cell = _nearest(references, single_cell_index(centres), 1, threads)
    return build_index(references, cell[:, 0], centres)


def _nearest(queries: np.ndarray, index: Index, k: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and rows, shape (n, k), for vectors without NaN; inf and -1 where there are fewer."""
    queries = np.ascontiguousarray(queries, np.float32)
    if len(index.centres) > 1:
        n_probed = min(N_PROBED, len(index.centres))
        _, probed = _nearest(queries, single_cell_index(index.centres), n_probed, threads)
        order = np.argsort(probed[:, 0], kind="stable")  # queries of a block share their cells

        def search(block: slice) -> np.ndarray:
            return _nearest_in_cells(queries[order[block]], index, np.unique(probed[order[block]]), k)
    else:
        order = np.arange(len(queries))
        pays = rounded.ROUNDED and len(queries) >= rounded.FEWEST
        compared = Rounded.from_vectors(index.vectors, len(index)) if pays else index

        def search(block: slice) -> np.ndarray:
            return _nearest_of_all(queries[block], index, compared, k)

    distances, rows = np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
    parts = blocks(len(queries))
    for block, keys in zip(parts, in_threads(search, parts, threads), strict=True):
        distances[order[block]], rows[order[block]] = distances_and_rows(keys)
    return distances, rows


def _nearest_in_cells(queries: np.ndarray, index: Index, cells: np.ndarray, k: int) -> np.ndarray:
    """Return the keys of the k nearest of some cells, ascending: int64, shape (n, k)."""
    in_order, n_kept = packed(queries), k + MARGIN
    limits, keys, counts = no_references(len(queries), n_kept)
    for cell in cells:
        strips = np.arange(*index.starts[cell : cell + 2], WIDTH)
        collect(in_order, index.columns, strips, limits, index.slack, n_kept, keys, counts)
    measure(queries, index.vectors, index.rows, n_kept, keys, counts)
    return np.sort(keys[:, :n_kept], axis=1)[:, :k]


def _nearest_of_all(queries: np.ndarray, index: Index, compared: "Index | Rounded", k: int) -> np.ndarray:
    """
    Return the keys of the k nearest references of an index of one cell, ascending: int64, shape (n, k).

    Some of the references give the limits for all others: fewer pass than while limits sink. Those of few
    queries are too low; they, and those that cannot be told apart by rounded vectors, are searched again.

    Parameters
    ----------
    compared : Index or Rounded
        The references as they are multiplied.
    """
    n_kept = min(k + MARGIN, len(index))
    strips = np.arange(0, len(index.rows), WIDTH)
    is_sampled = np.arange(len(strips)) % SAMPLED == 0
    (in_order, comparable), slack = compared.packed(queries), compared.slack
    limits, keys, counts = no_references(len(queries), n_kept)
    limits[:] = np.where(comparable, np.minimum(limits, compared.highest), UNDECIDED)
    if len(strips) > SAMPLED**2:
        n_expected = n_kept / SAMPLED
        enough = int(n_expected + 3 * np.sqrt(n_expected) + 3)
        collect(in_order, compared.columns, strips[is_sampled], limits, slack, enough, keys, counts)
        narrow(limits, slack, enough, keys, counts)
        strips = strips[~is_sampled]
    collect(in_order, compared.columns, strips, limits, slack, n_kept, keys, counts)
    narrow(limits, slack, n_kept, keys, counts)
    measure(queries, index.vectors, index.rows, keys.shape[1], keys, counts)
    nearest_keys = np.sort(keys[:, : max(k, counts.max())], axis=1)[:, :k]
    undecided = np.flatnonzero(limits == UNDECIDED)
    if len(undecided):
        nearest_keys[undecided] = _nearest_in_cells(queries[undecided], index, np.array([0]), k)
    return nearest_keys


def packed(queries: np.ndarray) -> np.ndarray:
    """Return (q, 1) in the order in which `collecting.collect` reads them."""
    return pack_weights(np.concatenate([queries, np.ones((len(queries), 1), np.float32)], axis=1), "fp32")


def blocks(n: int) -> list[slice]:
    """Return the blocks of ``n`` queries that are searched at once."""
    return [slice(start, min(start + QUERIES, n)) for start in range(0, n, QUERIES)]


def _nearest_torch(
    queries: np.ndarray, references: np.ndarray, k: int, device: str = "cuda"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as `_nearest` on one cell, computed by torch."""
    import torch

    def on_device(vectors: np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(vectors, np.float32)).to(device)

    candidates = on_device(references)
    squares = (candidates**2).sum(1)
    n_kept = min(k + MARGIN, len(references))
    step = max(1, 2**28 // len(references))  # 1 GB of distances
    parts = []
    for start in range(0, len(queries), step):
        block = on_device(queries[start : start + step])
        places = (squares - 2 * block @ candidates.T).topk(n_kept, largest=False).indices.sort().values
        exact = torch.linalg.vector_norm(block[:, None] - candidates[places], dim=2)
        exact, nearest_first = exact.sort(stable=True)
        parts.append((exact[:, :k].cpu().numpy(), places.gather(1, nearest_first)[:, :k].cpu().numpy()))
    distances, rows = zip(*parts, strict=True)
    return np.concatenate(distances), np.concatenate(rows)


def _report_recall(queries, index: Index, neighbours, *, seed: int, threads: int) -> None:
    """Print the share of true neighbours that the approximate search found, on a sample of queries."""
    sample = numbered_generator(seed).permutation(len(queries))[:N_MEASURED]
    in_order = np.argsort(index.rows)[np.count_nonzero(index.rows < 0) :]
    exact_index = single_cell_index(index.vectors[in_order])
    exact, _ = _nearest(queries[sample], exact_index, neighbours[0].shape[1], threads)
    recall = (neighbours[0][sample] <= exact[:, -1:] * (1 + 1e-6)).mean()
    print_warning(
        f"approximate neighbours: recall {recall:.3f}, measured on {len(sample):,} queries"
        f" ({len(index.centres):,} cells, {N_PROBED} searched per query)"
    )


def check_widths(queries: np.ndarray, references: np.ndarray) -> None:
    """Raise `ValueError` unless vectors have the same width: kernels read both by the width of one."""
    shapes = queries.shape, references.shape
    if [len(shape) for shape in shapes] != [2, 2] or shapes[0][1] != shapes[1][1] or not shapes[0][1]:
        raise ValueError(f"vectors of the shapes {shapes[0]} and {shapes[1]} cannot be compared")


def finite(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the rows without NaN and infinite numbers, and their vectors: without a copy if they are all.

    Raises
    ------
    InputError
        If a number is not below `LARGEST`.
    """
    parts = [vectors[start : start + _CHECKED] for start in range(0, len(vectors), _CHECKED)]
    small = [(np.abs(part) < LARGEST).all(axis=1) for part in parts]  # False for NaN too
    usable = np.concatenate([np.empty(0, bool), *small])
    unusable = vectors[~usable]
    if (np.isfinite(unusable) & (np.abs(unusable) >= LARGEST)).any():
        raise InputError(f"a vector holds a number that is not below {LARGEST:.0e}")
    rows = np.flatnonzero(usable)
    return rows, vectors if len(rows) == len(vectors) else vectors[rows]
