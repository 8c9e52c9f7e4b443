"""
All pairs of vectors within a radius: exact, and most pairs are excluded without computing their distance.

Vectors are grouped by the nearest of some centres. Rows of two cells, and blocks of pairs of them, are
excluded if they are too far apart along the line of the centres; pairs, if short
vectors of few dimensions are. The smaller the radius, the fewer distances are
computed.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from airrvec.core.compiled import compiled, compiled_fast
from airrvec.core.progress import counter
from airrvec.core.runtime import in_threads
from airrvec.model.cpu.kernels import WIDTH
from airrvec.model.cpu.lanes import LANES, ROWS, at_most, load, lowest_bit, maximum
from airrvec.search import neighbours
from airrvec.search.collecting import multiply, squared_distance
from airrvec.search.lower_bounds import N_SAMPLED, lower_bounds
from airrvec.search.rounded import ShortProducts

import numba
import numpy as np
from scipy import sparse

# Greatest error of a squared distance by rounding, relative to the squared lengths of the vectors.
ROUNDING = 4e-5


# --- What excludes rows of two cells along the line of their centres
#
# The lead of a row is its product with its own centre minus that with the other centre. The leads of a
# query and of a reference sum to the product of their difference and that of their centres: at most the
# radius, times the distance of the centres, if the two are within the radius.

BUCKETS = 64  # shares of the range of leads: rows are sorted by them
NONE = np.float32(1e30)  # lead of no row


@compiled
def gathered(vectors, rows):
    """Return rows of a matrix in their order, as indexing does, without the interpreter lock."""
    result = np.empty((len(rows), vectors.shape[1]), vectors.dtype)
    for i in range(len(rows)):
        for j in range(vectors.shape[1]):
            result[i, j] = vectors[rows[i], j]
    return result


@compiled_fast
def own_products(vectors, cells, centres):
    """Return the product of each vector, shape (n, d), with the centre of its cell: float32, shape (n,)."""
    products = np.empty(len(vectors), np.float32)
    for row in range(len(vectors)):
        product = np.float32(0)
        for i in range(vectors.shape[1]):
            product += vectors[row, i] * centres[cells[row], i]
        products[row] = product
    return products


@compiled
def near_rows(queries, to_other, references, to_cell, reach, sizes):
    """
    Return the queries and references of two cells with which pairs are possible, sorted roughly by lead.

    Parameters
    ----------
    queries, references : ndarray of float32, shape (n,) and (m,)
        Products of the rows with the centre of their own cell.
    to_other, to_cell : ndarray of float32, shape (n,) and (m,)
        Products with the centre of the other cell.
    reach : float32
        Greatest sum of the leads of a pair.
    sizes : tuple of int
        Queries and references of a group.

    Returns
    -------
    rows, floors, other_rows, other_floors : ndarray
        Rows of the queries and of the references, int64; the least lead of each group of them and all
        groups after it, float32.
    """
    least, least_other = _least(queries, to_other), _least(references, to_cell)
    rows, floors = _rows_within_lead(queries, to_other, least, reach - least_other, sizes[0])
    other_rows, other_floors = _rows_within_lead(references, to_cell, least_other, reach - least, sizes[1])
    return rows, floors, other_rows, other_floors


@compiled_fast
def _least(own, other):
    least = NONE
    for row in range(len(own)):
        least = min(least, own[row] - other[row])
    return least


@compiled
def _rows_within_lead(own, other, least, most, size):
    """Return the rows with a lead of at most ``most``, roughly sorted by it, and the floors of groups."""
    rows, leads, n = np.empty(len(own), np.int64), np.empty(len(own), np.float32), 0
    if least <= most:
        for row in range(len(own)):
            lead = own[row] - other[row]
            if lead <= most:
                rows[n], leads[n] = row, lead
                n += 1
    floors, starts = np.full(-(-n // size), NONE), np.zeros(BUCKETS + 1, np.int64)
    scale = np.float32(BUCKETS - 1) / max(most - least, np.float32(1e-30))
    for lead in leads[:n]:
        starts[_bucket(lead, least, scale) + 1] += 1
    for bucket in range(BUCKETS):
        starts[bucket + 1] += starts[bucket]
    ordered = np.empty(n, np.int64)
    for i in range(n):
        bucket = _bucket(leads[i], least, scale)
        at = starts[bucket]
        starts[bucket] += 1
        ordered[at] = rows[i]
        floors[at // size] = min(floors[at // size], leads[i])
    for group in range(len(floors) - 2, -1, -1):
        floors[group] = min(floors[group], floors[group + 1])
    return ordered, floors


@compiled
def _bucket(lead, least, scale):
    return min(max(int((lead - least) * scale), 0), BUCKETS - 1)


# --- Kernels of the search within a radius
#
# What cannot be a pair is excluded in three steps, none of which excludes a pair: rows of two cells that
# are too far apart along the line of their centres, then blocks of their pairs,
# then pairs whose short vectors are too far apart. The distances of the
# rest are computed from differences.

TILE = 4  # cells whose short vectors stay in the cache while those of other cells are compared with them
ALL = (1 << LANES) - 1


class Side(NamedTuple):
    """
    Vectors grouped by cell; a place is a number in the order of cells.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n, d)
        In the order of rows.
    rows : ndarray of int64, shape (n,)
        Row of each place.
    short : ndarray of float32 or int32, shape (n, p)
        Short vectors, by place, as of `ShortProducts`.
    halves : ndarray of the same type, shape (n,)
        −s · s / 2 of each short vector s, by place.
    own : ndarray of float32, shape (n,)
        Product of each vector with the centre of its cell, by place.
    """

    vectors: np.ndarray
    rows: np.ndarray
    short: np.ndarray
    halves: np.ndarray
    own: np.ndarray


class Block(NamedTuple):
    """
    Some neighbouring places of a side.

    Attributes
    ----------
    pieces : ndarray of int64, shape (n_pieces, 3)
        Cells or parts of cells, one after the other: cell, first place, last place + 1.
    vectors, rows, short, halves, own : ndarray
        Of these places, as in `Side`, but all by place.
    products : ndarray of float32, shape (n_others, n)
        Products with the centres of the pieces of the other block.
    """

    pieces: np.ndarray
    vectors: np.ndarray
    rows: np.ndarray
    short: np.ndarray
    halves: np.ndarray
    own: np.ndarray
    products: np.ndarray


@compiled
def join_blocks(block, other_block, same, reach, radius, limit, constants):
    """
    Return the pairs within a radius of the queries of a block and the references of another.

    Parameters
    ----------
    block, other_block : Block
        Of queries and of references.
    same : bool
        Queries are the references: return each pair once.
    reach : ndarray of float32, shape (n_pieces, n_others)
        Greatest sum of the leads of a query and a reference of two pieces that are within the radius.
    radius : float32
    limit : float
        Greatest squared distance of the short vectors of a pair.
    constants : ndarray, shape (3,)
        Of `ShortProducts`.

    Returns
    -------
    pairs : ndarray of int64, shape (n, 2)
        Row of the query and of the reference, in no particular order.
    distances : ndarray of float32, shape (n,)
    """
    most = 0
    for i in range(len(block.pieces)):
        most = max(most, block.pieces[i, 2] - block.pieces[i, 1])
    n_numbers = block.short.shape[1] + 2
    packed = np.empty((-(-most // ROWS), n_numbers, ROWS), constants.dtype)
    strip, excess = np.empty((n_numbers, WIDTH), constants.dtype), np.empty((ROWS, WIDTH), np.float32)
    candidates = np.empty(packed.shape[0] * ROWS * WIDTH, np.int64)
    pairs, distances, n_pairs = np.empty((256, 2), np.int64), np.empty(256, np.float32), np.int64(0)
    for i, j in _in_tiles(len(block.pieces), len(other_block.pieces)):
        cell, start, stop = block.pieces[i]
        other, other_start, other_stop = other_block.pieces[j]
        if same and other_start < start:
            continue
        begin, other_begin = start - block.pieces[0, 1], other_start - other_block.pieces[0, 1]
        if other == cell:
            near, other_near = np.arange(stop - start), np.arange(other_stop - other_start)
            floors, other_floors = np.zeros(0, np.float32), np.zeros(0, np.float32)
        else:
            mine = slice(begin, begin + stop - start)
            theirs = slice(other_begin, other_begin + other_stop - other_start)
            near, floors, other_near, other_floors = near_rows(
                block.own[mine],
                block.products[j, mine],
                other_block.own[theirs],
                other_block.products[i, theirs],
                reach[i, j],
                (np.int64(ROWS), np.int64(WIDTH)),
            )
        near += begin
        other_near += other_begin
        n_groups = _pack(block, near, constants, packed) if len(other_near) else 0
        for column in range(0, len(other_near), WIDTH):
            if other != cell:
                highest = reach[i, j] - other_floors[column // WIDTH]
                while n_groups and floors[n_groups - 1] > highest:
                    n_groups -= 1
            elif same and start == other_start:
                n_groups = min(-(-len(near) // ROWS), (column + WIDTH - 1) // ROWS + 1)
            if n_groups == 0:
                break
            _gather(other_block, other_near[column : column + WIDTH], constants, strip)
            n_candidates = _collect(packed, n_groups, strip, excess, candidates)
            if n_candidates:
                pairs, distances = _with_room(pairs, distances, n_pairs + n_candidates)
                filled = candidates[:n_candidates]
                n_pairs = _measure(
                    block, other_block, near, other_near[column:], same and start == other_start, filled,
                    radius, limit, pairs, distances, n_pairs,
                )  # fmt: skip
    return pairs[:n_pairs].copy(), distances[:n_pairs].copy()  # there was room for all candidates


# Not cached by itself: numba cannot compile a caller of a generator that comes from the cache.
@numba.njit(nogil=True)
def _in_tiles(n, m):
    """Yield all pairs of numbers below n and m, a few of the second at once."""
    for first in range(0, m, TILE):
        for i in range(n):
            for j in range(first, min(first + TILE, m)):
                yield i, j


@compiled
def _pack(block, places, constants, packed):
    """Set ``packed`` to the numbers of queries, in groups of `ROWS`; return the number of groups."""
    n, n_short = len(places), block.short.shape[1]
    one, far, half = constants
    n_groups = -(-n // ROWS)
    for at in range(n_groups * ROWS):
        group, i = at // ROWS, at % ROWS
        for j in range(n_short):
            packed[group, j, i] = block.short[places[at], j] if at < n else 0
        packed[group, n_short, i] = one
        packed[group, n_short + 1, i] = block.halves[places[at]] + half if at < n else far
    return n_groups


@compiled
def _gather(block, places, constants, strip):
    """Set the columns of ``strip`` to the numbers of references."""
    n_short = block.short.shape[1]
    one, far, _ = constants
    strip[:n_short] = 0
    strip[n_short] = far
    strip[n_short + 1] = one
    for lane in range(len(places)):
        place = places[lane]
        for j in range(n_short):
            strip[j, lane] = block.short[place, j]
        strip[n_short, lane] = block.halves[place]


@compiled
def _collect(packed, n_groups, strip, excess, candidates):
    """Set ``candidates`` to the query, times `WIDTH`, plus the reference of pairs; return their number."""
    n = 0
    for group in range(n_groups):
        multiply(packed[group], strip, excess)
        most = load(excess, 0, 0)
        for i in range(ROWS):
            for lane in range(0, WIDTH, LANES):
                most = maximum(most, load(excess, i, lane))
        if at_most(most, np.float32(0)) == ALL:
            continue
        for i in range(ROWS):
            for lane in range(0, WIDTH, LANES):
                above = ALL & ~at_most(load(excess, i, lane), np.float32(0))
                while above:
                    candidates[n] = (group * ROWS + i) * WIDTH + lane + lowest_bit(above)
                    n += 1
                    above &= above - 1
    return n


@compiled
def _measure(block, other_block, near, other_near, once, candidates, radius, limit, pairs, distances, n):
    """Add the candidates that are within the radius to ``pairs`` and ``distances``; return their number."""
    for candidate in candidates:
        query, reference = near[candidate // WIDTH], other_near[candidate % WIDTH]
        if once and reference <= query:
            continue
        vector, other = block.vectors[query], other_block.vectors[reference]
        if _squared_distance(vector, other) > limit:
            continue
        distance = np.float32(np.sqrt(squared_distance(vector, other)))
        if distance <= radius:
            pairs[n, 0], pairs[n, 1] = block.rows[query], other_block.rows[reference]
            distances[n] = distance
            n += 1
    return n


@compiled_fast
def _squared_distance(vector, other):
    """Return a squared distance, summed in any order: several times as fast."""
    total = np.float32(0)
    for i in range(len(vector)):
        total += (vector[i] - other[i]) ** 2
    return total


@compiled
def _with_room(pairs, distances, n):
    """Return arrays with room for n pairs."""
    if n <= len(pairs):
        return pairs, distances
    longer, farther = np.empty((2 * n, 2), np.int64), np.empty(2 * n, np.float32)
    for i in range(len(pairs)):
        longer[i, 0], longer[i, 1], farther[i] = pairs[i, 0], pairs[i, 1], distances[i]
    return longer, farther


# --- The search

MOST_CELLS, CELL = 4000, 1000  # cells, and vectors of a cell where there are fewer of them
SAMPLED = 20  # vectors per cell from which the centres are computed
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

    Examples
    --------
    >>> offsets, rows, distances = within(np.float32([[0, 0]]), np.float32([[3, 4], [1, 0]]), 2.0)
    >>> offsets.tolist(), rows.tolist(), distances.tolist()
    ([0, 1], [1], [1.0])
    """
    blocks = list(join(queries, references, radius, threads=threads))
    return _sorted(blocks, (len(queries), len(references)))


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

    Examples
    --------
    >>> first, second, distances = pairs_within(np.float32([[0, 0], [3, 4], [1, 0]]), 2.0)
    >>> first.tolist(), second.tolist(), distances.tolist()
    ([0], [2], [1.0])
    """
    blocks = [
        (np.sort(pairs, axis=1), distances)
        for pairs, distances in join(vectors, None, radius, threads=threads)
    ]
    offsets, rows, distances = _sorted(blocks, (len(vectors), len(vectors)))
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
    neighbours.check_widths(queries, queries if references is None else references)
    finite_parts = [neighbours.finite(vectors) for vectors in (queries, references) if vectors is not None]
    usable = [rows for rows, _ in finite_parts]
    parts = [np.ascontiguousarray(vectors, np.float32) for _, vectors in finite_parts]
    fewest = min(len(part) for part in parts)
    if not fewest:
        return
    longest = max(float(np.einsum("nd,nd->n", part, part).max()) for part in parts)
    radius = min(radius, 2.1 * np.sqrt(longest))  # no pair is farther apart; kernels need a finite radius
    n_cells = min(MOST_CELLS, -(-fewest // CELL))
    sample = parts[-1][:: max(1, len(parts[-1]) // (SAMPLED * n_cells))]
    centres = neighbours.cell_centres(sample, n_cells, seed=SEED, threads=threads)
    bounds = lower_bounds(parts[0], parts[-1], radius, seed=SEED)
    size = min(MOST_ROWS, max(CELL, -(-max(map(len, parts)) // LEAST_BLOCKS)))
    rounding = ROUNDING * longest
    limit = radius**2 + 4 * rounding
    longest_short = max(bounds.longest(part) for part in parts)
    products = ShortProducts.within(limit, longest_short, bounds.axes.shape[1] + 1)
    grouped = [_grouped(part, centres, bounds, products, size, threads) for part in parts]
    (side, blocks), (other_side, other_blocks) = grouped[0], grouped[-1]

    def search(row: tuple[np.ndarray, list[np.ndarray]]) -> list[tuple[np.ndarray, np.ndarray]]:
        pieces, partners = row
        vectors, results = _vectors(side, pieces), []
        for other_pieces in partners:
            apart = centres[pieces[:, 0], None] - centres[other_pieces[:, 0]]
            reach = (radius * np.sqrt((apart**2).sum(axis=2)) + rounding).astype(np.float32)
            block = other_block = _block(side, pieces, vectors, centres[other_pieces[:, 0]])
            if other_pieces is not pieces:
                other_vectors = _vectors(other_side, other_pieces)
                other_block = _block(other_side, other_pieces, other_vectors, centres[pieces[:, 0]])
            sides = block, other_block, same, reach
            results.append(join_blocks(*sides, np.float32(radius), limit, products.constants))
        return results

    n, m = len(blocks), len(other_blocks)
    rows = (
        (pieces, other_blocks[begin : begin + ROW])
        for number, pieces in enumerate(blocks)
        for begin in range(number if same else 0, m, ROW)
    )
    update = counter("blocks of pairs compared", n * (n + 1) // 2 if same else n * m, ends=False)
    for row_results in in_threads(search, rows, threads):
        update(len(row_results))
        for pairs, distances in row_results:
            yield np.stack([usable[0][pairs[:, 0]], usable[-1][pairs[:, 1]]], axis=1), distances


def _grouped(vectors, centres, bounds, products, size: int, threads: int) -> tuple[Side, list[np.ndarray]]:
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
    own = own_products(vectors, cell[:, 0], centres)[rows]
    parts = [
        products.numbers(bounds.short(vectors, rows[start : start + N_SAMPLED]))
        for start in range(0, len(rows), N_SAMPLED)
    ]
    short, halves = (np.concatenate(numbers) for numbers in zip(*parts, strict=True))
    side = Side(vectors, rows, short, halves, own)
    return side, [np.array(block) for block in blocks]


def _vectors(side: Side, pieces: np.ndarray) -> np.ndarray:
    """Return the vectors of a block, in the order of places."""
    return gathered(side.vectors, side.rows[pieces[0, 1] : pieces[-1, 2]])


def _block(side: Side, pieces, vectors, other_centres) -> Block:
    """Return a block with the products that bound the distances to the pieces of another one."""
    places = slice(pieces[0, 1], pieces[-1, 2])
    products = other_centres @ vectors.T
    rows, short, halves, own = (part[places] for part in side[1:])
    return Block(pieces, vectors, rows, short, halves, own, products)


def _sorted(blocks, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return pairs sorted by both rows: offsets of the first ones, second ones, distances."""
    pairs = np.concatenate([np.empty((0, 2), np.int64), *(pairs for pairs, _ in blocks)])
    distances = np.concatenate([np.empty(0, np.float32), *(distances for _, distances in blocks)])
    graph = sparse.coo_array((distances, (pairs[:, 0], pairs[:, 1])), shape).tocsr()
    graph.sort_indices()
    return graph.indptr.astype(np.int64), graph.indices.astype(np.int64), graph.data
