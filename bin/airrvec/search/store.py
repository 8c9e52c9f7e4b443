"""
Vectors on the disk, grouped by cell: only the cells that a search needs are read, and each has a checksum.

All segments of an index share their cells, those of fixed centres: a segment is added without a look at the
others.
"""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from threading import Lock

from airrvec.core import tables
from airrvec.core.compiled import compiled
from airrvec.core.errors import InputError
from airrvec.core.runtime import in_threads
from airrvec.model.cpu.kernels import WIDTH, copy_strip
from airrvec.model.cpu.lanes import LANES, ROWS, at_most, load, multiply_block
from airrvec.search import collecting, neighbours
from airrvec.search.neighbours import Index, build_index, single_cell_index

import numpy as np

RECORDS, CELLS = "records.bin", "cells.npy"
READ_AT_ONCE = 2**16  # vectors


@dataclass(frozen=True)
class Segment:
    """
    Vectors of a folder written by `write_segment`.

    Attributes
    ----------
    folder : Path
        With `RECORDS`, the vectors and their rows by cell, and `CELLS`, first place and CRC-32 of each cell.
    n_dimensions : int
        d.
    fix : str
        What to do if the folder is damaged, for error messages.
    """

    folder: Path
    n_dimensions: int
    fix: str

    @cached_property
    def _cells(self) -> np.ndarray:
        try:
            cells = np.load(self.folder / CELLS, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"it cannot be read ({error})", file=self.folder / CELLS, fix=self.fix
            ) from error
        return cells

    @property
    def starts(self) -> np.ndarray:
        """Place of the first vector of each cell, and the number of vectors: int64, shape (n_cells + 1,)."""
        return self._cells[0]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def read(self, first: int, last: int) -> np.ndarray:
        """
        Return the records of the cells from ``first`` to before ``last``, compared with their checksums.

        Returns
        -------
        ndarray with the fields ``row`` (int32) and ``vector`` (float32, shape (d,))

        Raises
        ------
        InputError
            If the file is damaged.
        """
        path, kind = self.folder / RECORDS, record(self.n_dimensions)
        bounds = self.starts[first : last + 1].tolist()
        with path.open("rb") as handle:
            handle.seek(bounds[0] * kind.itemsize)
            content = handle.read((bounds[-1] - bounds[0]) * kind.itemsize)
        view = memoryview(content)
        places = [(place - bounds[0]) * kind.itemsize for place in bounds]
        checksums = [zlib.crc32(view[a:b]) for a, b in pairwise(places)]
        if checksums != self._cells[1, first:last].tolist() or len(content) != places[-1]:
            raise InputError("the file is damaged: a cell differs from its checksum", file=path, fix=self.fix)
        return np.frombuffer(content, kind)


def record(n_dimensions: int) -> np.dtype:
    """Return the type of a vector with its row, little-endian on any machine."""
    return np.dtype([("row", "<i4"), ("vector", "<f4", (n_dimensions,))])


def write_segment(
    folder: Path, vectors: np.ndarray, rows: np.ndarray, cell: np.ndarray, n_cells: int
) -> None:
    """
    Write a segment.

    Parameters
    ----------
    folder : Path
        An existing folder.
    vectors : ndarray of float32, shape (n, d)
        Without NaN.
    rows : ndarray of int, shape (n,)
        What `Segment.read` returns with each vector; below 2^31.
    cell : ndarray of int, shape (n,)
        Cell of each vector, from `cells_of`.
    n_cells : int
        Number of cells.
    """
    order = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
    checksums = np.zeros(n_cells + 1, np.int64)
    with tables.atomic_path(folder / RECORDS) as temporary, temporary.open("wb") as handle:
        for first, last in spans(starts, np.ones(n_cells, bool)):
            chosen = order[starts[first] : starts[last]]
            part = np.empty(len(chosen), record(vectors.shape[1]))
            part["row"], part["vector"] = rows[chosen], vectors[chosen]
            for number in range(first, last):
                begin, end = starts[[number, number + 1]] - starts[first]
                checksums[number] = zlib.crc32(part[begin:end].tobytes())
            part.tofile(handle)
    with tables.atomic_path(folder / CELLS) as temporary, temporary.open("wb") as handle:
        np.save(handle, np.stack([starts, checksums]))


def spans(starts: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, int]]:
    """
    Yield spans of adjacent wanted cells, first and last + 1, of about `READ_AT_ONCE` vectors.

    Parameters
    ----------
    starts : ndarray of int, shape (n_cells + 1,)
        Vectors before each cell, over all segments.
    wanted : ndarray of bool, shape (n_cells,)
    """
    first = None
    for number, is_wanted in enumerate(wanted.tolist()):
        full = first is not None and starts[number + 1] - starts[first] > READ_AT_ONCE
        if first is not None and (not is_wanted or full):
            yield first, number
            first = None
        if is_wanted and first is None:
            first = number
    if first is not None:
        yield first, len(wanted)


# --- Kernel that counts the references within several distances of a query

# Squared distances are differences of products, which lose their last digits: equal vectors are counted.
ROUNDING = 2e-6


def distance_limits(queries: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the greatest product of a reference as near as each distance; float32, shape (n, k)."""
    squares = distances.astype(np.float64) ** 2 + ROUNDING - (queries.astype(np.float64) ** 2).sum(1)[:, None]
    return np.minimum(squares, 1e29).astype(np.float32)


@compiled
def count_near(queries, references, limits, counts):
    """
    Add to ``counts`` the references of which each limit is the first that is not exceeded.

    Parameters
    ----------
    queries : ndarray of float32, shape (n / ROWS, d + 1, ROWS)
        (q, 1), packed by `airrvec.model.cpu.kernels.pack_weights`.
    references : ndarray of float32, shape (d + 1, m)
        Columns (−2 r, r · r); m is a multiple of `WIDTH`.
    limits : ndarray of float32, shape (n, k)
        Of products, ascending.
    counts : ndarray of int64, shape (n, k)
    """
    strip = np.empty((len(references), WIDTH), np.float32)
    products = np.empty((ROWS, WIDTH), np.float32)
    for column in range(0, references.shape[1], WIDTH):
        copy_strip(references, column, strip)
        for group in range(len(queries)):
            multiply_block(queries[group], strip, products, 0, 0)
            for i in range(min(ROWS, len(limits) - group * ROWS)):
                row = group * ROWS + i
                for first in range(0, WIDTH, LANES):
                    below = at_most(load(products, i, first), limits[row, -1])
                    lane = first
                    while below:
                        if below & 1:
                            place = 0
                            while products[i, lane] > limits[row, place]:
                                place += 1
                            counts[row, place] += 1
                        below >>= 1
                        lane += 1


# --- Search among segments, cell by cell

# A query is compared with about so many vectors, and at least with those of one cell in a hundred.
CANDIDATES, LEAST_SHARE = 150_000, 0.01
STRETCH = 8192  # vectors of a cell among which all within a radius are in memory at once
MOST_PAIRS = 50_000_000  # within a radius: 2 GB
FARTHEST = 1e14  # no two vectors are so far apart: their numbers are below `neighbours.LARGEST`
WHOLE = 0.125  # if this share of the cells or more would be searched, all are: exactly


@dataclass(frozen=True)
class Store:
    """
    Segments with the same cells.

    Attributes
    ----------
    segments : sequence of Segment
    n_rows : sequence of int
        For each segment a number above all its rows; their sum is below 2^31.
    centres : ndarray of float32, shape (n_cells, d)
        Centres of the cells.
    """

    segments: Sequence[Segment]
    n_rows: Sequence[int]
    centres: np.ndarray

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def __post_init__(self):
        widths = {segment.n_dimensions for segment in self.segments} - {self.centres.shape[1]}
        if widths:
            raise ValueError(f"vectors of {min(widths)} dimensions in cells of {self.centres.shape[1]}")

    @property
    def offsets(self) -> np.ndarray:
        """First row of each segment among all, and the number of rows; int64, shape (n_segments + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_rows)]).astype(np.int64)

    @property
    def starts(self) -> np.ndarray:
        """Vectors before each cell, over all segments; int64, shape (n_cells + 1,)."""
        none = np.zeros(len(self.centres) + 1, np.int64)
        return sum((segment.starts for segment in self.segments), none)

    def read(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return vectors, rows among all and cells, from 0, of the cells ``first`` to before ``last``."""
        vectors, rows, cells = [], [], []
        for segment, offset in zip(self.segments, self.offsets.tolist(), strict=False):
            records = segment.read(first, last)
            vectors.append(records["vector"])
            rows.append(records["row"].astype(np.int64) + offset)
            sizes = np.diff(segment.starts[first : last + 1])
            cells.append(np.repeat(np.arange(last - first), sizes))
        return np.concatenate(vectors), np.concatenate(rows), np.concatenate(cells)


def nearest(
    store: Store, queries: np.ndarray, k: int, *, exact: bool = False, threads: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the k nearest vectors of each query.

    Parameters
    ----------
    store : Store
    queries : ndarray of float32, shape (n, d)
        Rows with NaN have no neighbours.
    k : int
        Number of neighbours.
    exact : bool
        Search all cells, not only those nearest to the query that hold about `CANDIDATES` vectors.

    Returns
    -------
    distances : ndarray of float32, shape (n, k)
        Euclidean, ascending; infinite where neighbours run out. Fewer columns if there are fewer vectors.
    rows : ndarray of int64, shape (n, k)
        Rows among those of all segments; -1 where neighbours run out. The result does not depend on the
        number of threads: at equal distances the lower row is first.
    """
    neighbours.check_widths(queries, store.centres)
    usable, vectors = neighbours.finite(queries)
    k = min(k, len(store))
    best = np.full((len(queries), k), collecting.NOTHING)
    n_kept = k + neighbours.MARGIN
    lock = Lock()

    def search(vectors, packed, query_rows, index, start, stop) -> None:
        limits, keys, counts = collecting.no_references(len(vectors), n_kept)
        strips = np.arange(start, stop, WIDTH)
        collecting.collect(packed, index.columns, strips, limits, index.slack, n_kept, keys, counts)
        collecting.measure(vectors, index.vectors, index.rows, n_kept, keys, counts)
        with lock:
            both = np.concatenate([best[usable[query_rows]], keys[:, :n_kept]], axis=1)
            best[usable[query_rows]] = np.sort(both, axis=1)[:, :k]

    _visit(store, vectors, search, exact=exact, threads=threads)
    return collecting.distances_and_rows(best)


def within(
    store: Store, queries: np.ndarray, radius: float, *, threads: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return all vectors within a radius of each query; all cells are searched.

    Parameters
    ----------
    store, queries
        As for `nearest`.
    radius : float
        Largest Euclidean distance, inclusive.

    Returns
    -------
    query, rows : ndarray of int64
        Query, ascending, and row among those of all segments, of each pair.
    distances : ndarray of float32
        Ascending for each query; at equal distances the lower row is first.

    Raises
    ------
    InputError
        If there are more than `MOST_PAIRS`.
    """
    neighbours.check_widths(queries, store.centres)
    usable, finite_queries = neighbours.finite(queries)
    radius = min(radius, FARTHEST)  # the limit stays below the product of a place without a reference
    hits: list[tuple[np.ndarray, np.ndarray]] = []
    n_hits = [0]
    lock = Lock()

    def search(vectors, packed, query_rows, index, start, stop) -> None:
        limits = ((radius * 1.001 + 1e-3) ** 2 - (vectors**2).sum(axis=1)).astype(np.float32)
        step = STRETCH
        keys = np.empty((len(vectors), step + 1), np.int64)
        for begin in range(start, stop, step):
            counts = np.zeros(len(vectors), np.int64)
            strips = np.arange(begin, min(begin + step, stop), WIDTH)
            collecting.collect(packed, index.columns, strips, limits, index.slack, step, keys, counts)
            collecting.measure(vectors, index.vectors, index.rows, step, keys, counts)
            query = np.repeat(np.arange(len(counts)), counts)
            near = keys[query, np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)]
            kept = near <= np.int64(np.float32(radius).view(np.int32)) << 32 | collecting.LOWER
            with lock:
                hits.append((usable[query_rows[query[kept]]], near[kept]))
                n_hits[0] += int(kept.sum())
                if n_hits[0] > MOST_PAIRS:
                    raise InputError(
                        f"more than {MOST_PAIRS:,} pairs are within {radius:g}", fix="Choose a smaller radius"
                    )

    _visit(store, finite_queries, search, exact=True, threads=threads)
    query = np.concatenate([np.empty(0, np.int64), *(part for part, _ in hits)])
    keys = np.concatenate([np.empty(0, np.int64), *(part for _, part in hits)])
    order = np.lexsort((keys, query))
    distances, rows = collecting.distances_and_rows(keys[order])
    return query[order], rows, distances


def n_near(
    queries: np.ndarray, background: np.ndarray, query: np.ndarray, distances: np.ndarray, *, threads: int
) -> np.ndarray:
    """
    Return how many background vectors are as near to a query as each of its neighbours.

    Parameters
    ----------
    queries : ndarray of float32, shape (n, d)
    background : ndarray of float32, shape (m, d)
        Rows with NaN are near to none.
    query : ndarray of int, shape (n_pairs,)
        Query of each neighbour, ascending.
    distances : ndarray of float32, shape (n_pairs,)
        Ascending for each query.

    Returns
    -------
    ndarray of int64, shape (n_pairs,)
    """
    neighbours.check_widths(queries, background)
    # Kernels take no NaN; a query without a vector has no neighbours.
    known = np.where(np.isfinite(queries), queries, 0).astype(np.float32)
    index = single_cell_index(neighbours.finite(background)[1])
    near = np.zeros(len(query), np.int64)

    def count(block: slice) -> None:
        begin, end = np.searchsorted(query, [block.start, block.stop])
        mine = query[begin:end] - block.start
        sizes = np.bincount(mine, minlength=block.stop - block.start)
        if not len(mine):
            return
        place = np.arange(len(mine)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        within = np.full((len(sizes), sizes.max()), -1, np.float32)
        within[mine, place] = distances[begin:end]
        vectors = known[block]
        counts = np.zeros(within.shape, np.int64)
        limits = np.maximum.accumulate(distance_limits(vectors, within), axis=1)
        count_near(neighbours.packed(vectors), index.columns, limits, counts)
        near[begin:end] = np.cumsum(counts, axis=1)[mine, place]

    for _ in in_threads(count, neighbours.blocks(len(queries)), threads):
        pass
    return near


def _visit(store: Store, queries: np.ndarray, search: Callable, *, exact: bool, threads: int) -> None:
    """Call ``search`` for each cell, or span of cells, and each block of the queries that search it."""
    starts = store.starts
    queries = np.ascontiguousarray(queries, np.float32)
    probed = None if exact else _probed(store, queries, int(starts[-1]), threads)
    wanted = np.ones(len(store.centres), bool)
    if probed is not None:
        order = np.argsort(probed.ravel(), kind="stable")
        bounds = np.searchsorted(probed.ravel()[order], np.arange(len(wanted) + 1))
        query_of = order // probed.shape[1]
        wanted = np.diff(bounds) > 0
    everyone = np.arange(len(queries) if probed is None else 0)
    packed = [(block, queries[block], neighbours.packed(queries[block])) for block in _blocks_of(everyone)]

    def look(span: tuple[int, int]) -> None:
        vectors, rows, cells = store.read(*span)
        if not len(vectors):
            return
        if probed is None:
            index = _rowed(build_index(vectors, np.zeros_like(cells), store.centres[:1]), rows)
            for block, block_vectors, block_packed in packed:
                search(block_vectors, block_packed, block, index, 0, len(index.rows))
            return
        index = _rowed(build_index(vectors, cells, store.centres[slice(*span)]), rows)
        for number in range(*span):
            start, stop = index.starts[number - span[0] : number - span[0] + 2]
            for block in _blocks_of(query_of[bounds[number] : bounds[number + 1]]) if start < stop else ():
                search(queries[block], neighbours.packed(queries[block]), block, index, start, stop)

    for _ in in_threads(look, spans(starts, wanted), threads):
        pass


def _probed(store: Store, queries: np.ndarray, n: int, threads: int) -> np.ndarray | None:
    """Return the cells that each query searches, shape (n, n_probed); None for all."""
    n_cells = len(store.centres)
    share = max(CANDIDATES / max(n, 1), LEAST_SHARE)
    if share > WHOLE:
        return None
    n_probed = int(np.ceil(share * n_cells))
    return neighbours.nearest(queries, store.centres, n_probed, threads=threads, approximate_above=np.inf)[1]


def _blocks_of(queries: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(queries), neighbours.QUERIES):
        yield queries[start : start + neighbours.QUERIES]


def _rowed(index: Index, rows: np.ndarray) -> Index:
    """Return an index with these rows in place of the numbers of its vectors."""
    return Index(index.vectors, index.columns, rows[index.rows], index.starts, index.centres)
