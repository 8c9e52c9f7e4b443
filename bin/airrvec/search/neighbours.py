"""
Nearest neighbours by Euclidean distance, computed in blocks: the full distance matrix is never stored.

Products of queries and references find the nearest, whose distances are then
computed from differences. Above a size limit the references are divided into cells, and a block of queries is
compared only with the nearest cells: this search is approximate, and its recall is measured.
"""

from dataclasses import dataclass

from airrvec.core.errors import InputError, require_choice
from airrvec.core.runtime import in_threads
from airrvec.core.seeds import numbered_generator
from airrvec.core.terminal import print_warning
from airrvec.model.cpu.kernels import WIDTH, copy_strip, pack_weights
from airrvec.model.cpu.lanes import LANES, ROWS, at_most, load, lowest_bit, multiply_block

import numba
import numpy as np

NO_REFERENCE = np.float32(1e30)  # product of a place without a reference; no infinity, for fast arithmetic
GATHERED = 32  # references that are measured at once
LOWER = np.int64(0xFFFFFFFF)  # bits of a key that hold the place
NOTHING = np.int64(0x7F800000FFFFFFFF)  # key of an infinite distance, to row -1

_compiled = numba.njit(nogil=True, cache=True)
# As in `airrvec.model.cpu.kernels`: the same digits freshly compiled and cached.
_inlined = numba.njit(nogil=True, forceinline=True)


@_compiled
def collect(queries, references, start, stop, limits, n_kept, keys, counts):
    """
    Add the references from ``start`` to ``stop`` to the nearest of each query.

    Parameters
    ----------
    queries : ndarray of float32, shape (n / ROWS, d + 1, ROWS)
        (q, 1), packed by `airrvec.model.cpu.kernels.pack_weights`.
    references : ndarray of float32, shape (d + 1, m)
        Columns (−2 r, r · r). ``start`` and ``stop`` are multiples of `WIDTH`.
    limits : ndarray of float32, shape (n,)
        Greatest product that is kept. Lowered once ``n_kept`` references are nearer.
    n_kept : int
        References that are kept for each query.
    keys : ndarray of int64, shape (n, room)
        ``room`` is greater than ``n_kept``: the more, the fewer selections.
    counts : ndarray of int64, shape (n,)
        Keys in each row.
    """
    strip = np.empty((len(references), WIDTH), np.float32)
    products = np.empty((ROWS, WIDTH), np.float32)
    bits = products.view(np.int32)
    for column in range(start, stop, WIDTH):
        copy_strip(references, column, strip)
        for group in range(len(queries)):
            multiply_block(queries[group], strip, products, 0, 0)
            for i in range(min(ROWS, len(limits) - group * ROWS)):
                row = group * ROWS + i
                for first in range(0, WIDTH, LANES):
                    below = at_most(load(products, i, first), limits[row])
                    while below:
                        lane = first + lowest_bit(below)
                        below &= below - 1
                        keys[row, counts[row]] = _key(bits[i, lane], column + lane)
                        counts[row] += 1
                        if counts[row] == keys.shape[1]:
                            counts[row], limits[row] = _drop(keys[row], n_kept)


@_compiled
def measure(queries, references, rows, n_kept, keys, counts):
    """
    Keep the least keys of each query, and put the distance, and the reference's row, in place of each.

    Distances are computed from differences: a product of nearly equal vectors has lost its digits.

    Parameters
    ----------
    queries, references : ndarray of float32, shape (n, d) and (m, d)
    rows : ndarray of int64, shape (m,)
        Rows of the references.
    n_kept, keys, counts
        As for `collect`.
    """
    distance = np.empty(1, np.float32)
    bits = distance.view(np.int32)
    # Copied first, because few loads at once wait for memory while distances are computed.
    gathered = np.empty((GATHERED, references.shape[1]), np.float32)
    for query in range(len(keys)):
        if counts[query] > n_kept:
            select(keys[query, : counts[query]], n_kept)
            counts[query] = n_kept
        for first in range(0, counts[query], GATHERED):
            last = min(first + GATHERED, counts[query])
            for at in range(first, last):
                place = keys[query, at] & LOWER
                for dimension in range(references.shape[1]):
                    gathered[at - first, dimension] = references[place, dimension]
            for at in range(first, last):
                distance[0] = np.sqrt(squared_distance(queries[query], gathered[at - first]))
                keys[query, at] = _key(bits[0], rows[keys[query, at] & LOWER])


@_compiled
def _drop(keys, n_kept):
    """
    Drop keys, shape (n,), all distinct, until few but the least ``n_kept`` are left.

    A threshold is found by bisection: counting takes a fraction of the time of selecting.

    Returns
    -------
    count : int
        Keys that are left, at the front; less than n.
    limit : float
        The greatest product that may still be among the least.
    """
    enough = n_kept + (len(keys) - n_kept) // 4
    low, high, count = keys[0], keys[0], len(keys)
    for key in keys:
        low, high = min(low, key), max(high, key)
    while count > enough and low < high:
        middle = (low & high) + ((low ^ high) >> 1)  # their difference may be beyond 63 bits
        below = 0
        for key in keys:
            below += key <= middle
        if below >= n_kept:
            high, count = middle, below
        else:
            low = middle + 1
    kept = 0
    for key in keys:
        keys[kept] = key
        kept += key <= high
    return kept, _product(high)


@_compiled
def select(keys, k):
    """Move the k least of the keys, shape (n,), to the front, in any order (quickselect)."""
    low, high = 0, len(keys) - 1
    while low < high:
        middle = (low + high) // 2
        a, b, c = keys[low], keys[middle], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@_inlined
def _key(bits, place):
    """Return a key; ``bits`` are those of a float32. Those of negative numbers fall as the number rises."""
    ascending = bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))
    return (np.int64(ascending) << np.int64(32)) | np.int64(place)


@_inlined
def _product(key):
    """Return the product of a key."""
    bits = np.empty(1, np.int32)
    upper = np.int32(key >> np.int64(32))
    bits[0] = upper ^ ((upper >> np.int32(31)) & np.int32(0x7FFFFFFF))
    return bits.view(np.float32)[0]


@_inlined
def squared_distance(x, y):
    """Return the squared distance of two vectors, shape (d,), summed as NumPy sums up to 128 numbers."""
    d = len(x)
    whole = d - d % 8
    a = b = c = e = f = g = h = i = np.float32(0)
    for at in range(0, whole, 8):
        a += (x[at] - y[at]) ** 2
        b += (x[at + 1] - y[at + 1]) ** 2
        c += (x[at + 2] - y[at + 2]) ** 2
        e += (x[at + 3] - y[at + 3]) ** 2
        f += (x[at + 4] - y[at + 4]) ** 2
        g += (x[at + 5] - y[at + 5]) ** 2
        h += (x[at + 6] - y[at + 6]) ** 2
        i += (x[at + 7] - y[at + 7]) ** 2
    total = ((a + b) + (c + e)) + ((f + g) + (h + i))
    for at in range(whole, d):
        total += (x[at] - y[at]) ** 2
    return total


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
    several_cells = len(index.centres) > 1
    if several_cells:
        n_probed = min(N_PROBED, len(index.centres))
        _, probed = _nearest(queries, single_cell_index(index.centres), n_probed, threads)
        order = np.argsort(probed[:, 0], kind="stable")  # queries of a block share their cells
    else:
        order = np.arange(len(queries))
    n_kept = k + MARGIN

    def search(block: slice) -> tuple[np.ndarray, np.ndarray]:
        vectors = queries[order[block]]
        in_order = packed(vectors)
        limits, keys, counts = no_references(len(vectors), n_kept)
        for cell in np.unique(probed[order[block]]) if several_cells else [0]:
            start, stop = index.starts[cell], index.starts[cell + 1]
            collect(in_order, index.columns, start, stop, limits, n_kept, keys, counts)
        measure(vectors, index.vectors, index.rows, n_kept, keys, counts)
        return distances_and_rows(np.sort(keys[:, :n_kept], axis=1)[:, :k])

    distances, rows = np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
    parts = blocks(len(queries))
    for block, part in zip(parts, in_threads(search, parts, threads), strict=True):
        distances[order[block]], rows[order[block]] = part
    return distances, rows


def no_references(n: int, n_kept: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return limits, keys and counts, as of `collect`, of ``n`` queries that were compared with nothing."""
    room = n_kept + max(2 * n_kept, 64)
    limits = np.full(n, NO_REFERENCE / 2, np.float32)
    return limits, np.full((n, room), NOTHING), np.zeros(n, np.int64)


def packed(queries: np.ndarray) -> np.ndarray:
    """Return (q, 1) in the order in which `collecting.collect` reads them."""
    return pack_weights(np.concatenate([queries, np.ones((len(queries), 1), np.float32)], axis=1), "fp32")


def distances_and_rows(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and rows from keys of `collecting.measure`."""
    return (keys >> 32).astype(np.int32).view(np.float32), keys.astype(np.int32).astype(np.int64)


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
