"""
Nearest neighbours by Euclidean distance, computed in blocks: the full distance matrix is never stored.

Products of queries and references (`airrvec.search.collecting`) find the nearest, whose distances are then
computed from differences. Above a size limit the references are divided into cells, and a block of queries is
compared only with the nearest cells: this search is approximate, and its recall is measured.
"""

from airrvec.core.errors import InputError, require_choice
from airrvec.core.runtime import in_threads
from airrvec.core.seeds import numbered_generator
from airrvec.core.terminal import print_warning
from airrvec.model.cpu.kernels import pack_weights
from airrvec.search import collecting
from airrvec.search.index import Index, build_index, single_cell_index

import numpy as np

QUERIES = 256  # of a block
MARGIN = 8  # candidates beyond k whose distances are recomputed
APPROXIMATE_ABOVE = 10**12  # pairs of a query and a reference
N_PROBED, N_MEASURED = 16, 1000  # cells searched per query; queries used to measure the recall

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
    """
    require_choice("device", device, ("cpu", "gpu"))
    check_widths(queries, references)
    usable, queries_found = finite(queries)
    usable_references, references_found = finite(references)
    distances = np.full((len(queries), k), np.inf, np.float32)
    rows = np.full((len(queries), k), _NO_ROW)
    if len(usable) and len(usable_references):
        n_found = min(k, len(usable_references))
        if device == "gpu":
            neighbours = _nearest_torch(queries_found, references_found, n_found)
        elif len(usable) * len(usable_references) <= approximate_above:
            neighbours = _nearest(queries_found, single_cell_index(references_found), n_found, threads)
        else:
            index = _cells(references_found, seed=seed, threads=threads)
            neighbours = _nearest(queries_found, index, n_found, threads)
            _report_recall(queries_found, index, neighbours, seed=seed, threads=threads)
        distances[usable, :n_found], places = neighbours
        rows[usable, :n_found] = np.where(places < 0, _NO_ROW, usable_references[places])
    return distances, rows


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
    room = n_kept + max(n_kept, 64)

    def search(block: slice) -> tuple[np.ndarray, np.ndarray]:
        vectors = queries[order[block]]
        in_order = packed(vectors)
        limits = np.full(len(vectors), collecting.NO_REFERENCE / 2, np.float32)
        keys = np.full((len(vectors), room), collecting.NOTHING)
        counts = np.zeros(len(vectors), np.int64)
        for cell in np.unique(probed[order[block]]) if several_cells else [0]:
            start, stop = index.starts[cell], index.starts[cell + 1]
            collecting.collect(in_order, index.columns, start, stop, limits, n_kept, keys, counts)
        collecting.measure(vectors, index.vectors, index.rows, n_kept, keys, counts)
        return distances_and_rows(np.sort(keys[:, :n_kept], axis=1)[:, :k])

    distances, rows = np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
    parts = blocks(len(queries))
    for block, part in zip(parts, in_threads(search, parts, threads), strict=True):
        distances[order[block]], rows[order[block]] = part
    return distances, rows


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
    return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


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
    others = vectors[~usable]
    if (np.isfinite(others) & (np.abs(others) >= LARGEST)).any():
        raise InputError(f"a vector holds a number that is not below {LARGEST:.0e}")
    rows = np.flatnonzero(usable)
    return rows, vectors if len(rows) == len(vectors) else vectors[rows]
