"""
Kernels of the search within a radius.

What cannot be a pair is excluded in three steps, none of which excludes a pair: rows of two cells that are
too far apart along the line of their centres, then blocks of their pairs (`airrvec.search.leads`), then pairs
whose short vectors are too far apart (`airrvec.search.lower_bounds`). The distances of the rest are computed
from differences.
"""

from typing import NamedTuple

from airrvec.model.cpu.lanes import LANES, ROWS, at_most, load, lowest_bit, maximum, multiply_block
from airrvec.search import leads
from airrvec.search.collecting import WIDTH, squared_distance

import numba
import numpy as np

FAR = np.float32(-1e30)  # excess of a place without a row
ALL = (1 << LANES) - 1

_compiled = numba.njit(nogil=True, cache=True)
_fast = numba.njit(nogil=True, cache=True, fastmath=True)


class Side(NamedTuple):
    """
    Vectors grouped by cell; a place is a number in the order of cells.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n, d)
        In the order of rows.
    rows : ndarray of int64, shape (n,)
        Row of each place.
    short : ndarray of float32, shape (n, p)
        Short vectors, by place.
    own : ndarray of float32, shape (n,)
        Product of each vector with the centre of its cell, by place.
    """

    vectors: np.ndarray
    rows: np.ndarray
    short: np.ndarray
    own: np.ndarray


class Block(NamedTuple):
    """
    Some neighbouring places of a side.

    Attributes
    ----------
    pieces : ndarray of int64, shape (n_pieces, 3)
        Cells or parts of cells, one after the other: cell, first place, last place + 1.
    vectors, rows, short, own : ndarray
        Of these places, as in `Side`, but all by place.
    products : ndarray of float32, shape (n_others, n)
        Products with the centres of the pieces of the other block.
    """

    pieces: np.ndarray
    vectors: np.ndarray
    rows: np.ndarray
    short: np.ndarray
    own: np.ndarray
    products: np.ndarray


@_compiled
def join(block, other_block, same, reach, radius, limit):
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

    Returns
    -------
    pairs : ndarray of int64, shape (n, 2)
        Row of the query and of the reference, in no particular order.
    distances : ndarray of float32, shape (n,)
    """
    most = (block.pieces[:, 2] - block.pieces[:, 1]).max()
    n_numbers = block.short.shape[1] + 2
    packed = np.empty((-(-most // ROWS), n_numbers, ROWS), np.float32)
    strip, excess = np.empty((n_numbers, WIDTH), np.float32), np.empty((ROWS, WIDTH), np.float32)
    candidates = np.empty(packed.shape[0] * ROWS * WIDTH, np.int64)
    pairs, distances, n_found = np.empty((256, 2), np.int64), np.empty(256, np.float32), 0
    for i, (cell, start, stop) in enumerate(block.pieces):
        begin = start - block.pieces[0, 1]
        mine = slice(begin, begin + stop - start)
        for j, (other, other_start, other_stop) in enumerate(other_block.pieces):
            if same and other_start < start:
                continue
            other_begin = other_start - other_block.pieces[0, 1]
            if other == cell:
                near, others = np.arange(stop - start), np.arange(other_stop - other_start)
                floors, other_floors = np.zeros(0, np.float32), np.zeros(0, np.float32)
            else:
                theirs = slice(other_begin, other_begin + other_stop - other_start)
                near, floors, others, other_floors = leads.near(
                    block.own[mine],
                    block.products[j, mine],
                    other_block.own[theirs],
                    other_block.products[i, theirs],
                    reach[i, j],
                    (ROWS, WIDTH),
                )
            near += begin
            others += other_begin
            n_groups = _pack(block.short, near, limit, packed) if len(others) else 0
            for column in range(0, len(others), WIDTH):
                if other != cell:
                    highest = reach[i, j] - other_floors[column // WIDTH]
                    while n_groups and floors[n_groups - 1] > highest:
                        n_groups -= 1
                elif same and start == other_start:
                    n_groups = min(-(-len(near) // ROWS), (column + WIDTH - 1) // ROWS + 1)
                if n_groups == 0:
                    break
                _gather(other_block.short, others, column, min(WIDTH, len(others) - column), strip)
                n_candidates = _collect(packed, n_groups, strip, excess, candidates)
                if n_candidates:
                    pairs, distances = _with_room(pairs, distances, n_found + n_candidates)
                    found = candidates[:n_candidates]
                    n_found = _measure(
                        block, other_block, near, others[column:], same and start == other_start, found,
                        radius, limit, pairs, distances, n_found,
                    )  # fmt: skip
    return pairs[:n_found], distances[:n_found]


@_compiled
def _pack(short, places, limit, packed):
    """Set ``packed`` to (2 q, 1, limit − q · q) of queries, in groups of `ROWS`; return their number."""
    n, n_short = len(places), short.shape[1]
    n_groups = -(-n // ROWS)
    for at in range(n_groups * ROWS):
        group, i = at // ROWS, at % ROWS
        square = np.float32(0)
        for j in range(n_short):
            number = short[places[at], j] if at < n else np.float32(0)
            packed[group, j, i] = np.float32(2) * number
            square += number * number
        packed[group, n_short, i] = 1
        packed[group, n_short + 1, i] = limit - square if at < n else FAR
    return n_groups


@_compiled
def _gather(short, places, first, n, strip):
    """Set the columns of ``strip`` to (r, −r · r, 1) of n references: times a query, limit − |q − r|²."""
    n_short = short.shape[1]
    strip[:n_short] = 0
    strip[n_short] = FAR
    strip[n_short + 1] = 1
    for lane in range(n):
        square = np.float32(0)
        for j in range(n_short):
            number = short[places[first + lane], j]
            strip[j, lane] = number
            square += number * number
        strip[n_short, lane] = -square


@_compiled
def _collect(packed, n_groups, strip, excess, candidates):
    """Set ``candidates`` to the query, times `WIDTH`, plus the reference of pairs; return their number."""
    n = 0
    for group in range(n_groups):
        multiply_block(packed[group], strip, excess, 0, 0)
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


@_compiled
def _measure(block, other_block, near, others, once, candidates, radius, limit, pairs, distances, n):
    """Add the candidates that are within the radius to ``pairs`` and ``distances``; return their number."""
    for candidate in candidates:
        query, reference = near[candidate // WIDTH], others[candidate % WIDTH]
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


@_fast
def _squared_distance(vector, other):
    """Return a squared distance, summed in any order: several times as fast."""
    total = np.float32(0)
    for i in range(len(vector)):
        total += (vector[i] - other[i]) ** 2
    return total


@_compiled
def _with_room(pairs, distances, n):
    """Return arrays with room for n pairs."""
    if n <= len(pairs):
        return pairs, distances
    longer = np.empty((2 * n, 2), np.int64), np.empty(2 * n, np.float32)
    longer[0][: len(pairs)], longer[1][: len(pairs)] = pairs, distances
    return longer
