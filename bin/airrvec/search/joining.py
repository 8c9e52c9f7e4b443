"""
Kernels of the search within a radius: the rows of one cell with those of all others.

What cannot be a pair is excluded in three steps, none of which excludes a pair: cells that are too far apart
along the line of their centres, then rows of them, then pairs whose short vectors are too far apart
(`airrvec.search.lower_bounds`). The distances of the rest are computed from differences.
"""

from typing import NamedTuple

import numba
import numpy as np

from airrvec.model.cpu.lanes import LANES, ROWS, at_most, load, lowest_bit, maximum, multiply_block
from airrvec.search.collecting import WIDTH, squared_distance

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
    short : ndarray of float32, shape (n, p)
        Short vectors, by place.
    rows : ndarray of int64, shape (n,)
        Row of each place.
    starts : ndarray of int64, shape (n_cells + 1,)
        First place of each cell, and n.
    """

    vectors: np.ndarray
    short: np.ndarray
    rows: np.ndarray
    starts: np.ndarray


@_fast
def least_leads(products, cell, leads):
    """
    Set the least lead of a cell's rows over each other cell.

    The lead of a row is its product with its own centre minus that with the other centre.

    Parameters
    ----------
    products : ndarray of float32, shape (n_cells, n)
        Products of all centres and the cell's rows.
    leads : ndarray of float32, shape (n_cells,)
    """
    for other in range(len(products)):
        least = np.float32(1e30)
        for row in range(products.shape[1]):
            least = min(least, products[cell, row] - products[other, row])
        leads[other] = least


@_compiled
def join(cell, queries, references, same, products, leads, centres, reach, radius, limit):
    """
    Return the pairs within a radius of a cell's queries and all references.

    Parameters
    ----------
    cell : int
    queries, references : Side
        With the same cells.
    same : bool
        Queries are the references: return each pair once.
    products : ndarray of float32, shape (n_cells, n)
        Products of all centres and the cell's queries.
    leads : ndarray of float32, shape (n_cells, n_cells)
        Least leads of the references of each cell (row) over each other cell.
    centres : ndarray of float32, shape (n_cells, d)
    reach : ndarray of float32, shape (n_cells,)
        Greatest sum of the leads of a query and a reference of each other cell that are within the radius.
    radius : float32
    limit : float
        Greatest squared distance of the short vectors of a pair.

    Returns
    -------
    pairs : ndarray of int64, shape (n, 2)
        Row of the query and of the reference, in no particular order.
    distances : ndarray of float32, shape (n,)
    """
    first, n = queries.starts[cell], queries.starts[cell + 1] - queries.starts[cell]
    near = np.empty(n, np.int64)
    others = np.empty(np.diff(references.starts).max(), np.int64)
    n_numbers = queries.short.shape[1] + 2
    packed = np.empty((-(-n // ROWS), n_numbers, ROWS), np.float32)
    strip, excess = np.empty((n_numbers, WIDTH), np.float32), np.empty((ROWS, WIDTH), np.float32)
    candidates = np.empty(packed.shape[0] * ROWS * WIDTH, np.int64)
    pairs, distances, n_found = np.empty((256, 2), np.int64), np.empty(256, np.float32), 0
    for other in range(cell if same else 0, len(centres)):
        start, stop = references.starts[other], references.starts[other + 1]
        if other == cell:
            n_near, n_others = n, stop - start
            near[:] = np.arange(first, first + n)
            others[:n_others] = np.arange(start, stop)
        else:
            most = reach[other] - leads[other, cell]
            n_near, least = _queries_near(products, cell, other, most, first, near)
            if n_near == 0:
                continue
            direction, most = centres[other] - centres[cell], reach[other] - least
            n_others = _references_near(
                references.vectors, references.rows, start, stop, direction, most, others
            )
        n_groups = _pack(queries.short, near, n_near, limit, packed)
        for column in range(0, n_others, WIDTH):
            if same and other == cell:
                n_groups = min(-(-n_near // ROWS), (column + WIDTH - 1) // ROWS + 1)
            _gather(references.short, others, column, min(WIDTH, n_others - column), strip)
            n_candidates = _collect(packed, n_groups, strip, excess, candidates)
            if n_candidates:
                pairs, distances = _with_room(pairs, distances, n_found + n_candidates)
                n_found = _measure(
                    queries.vectors,
                    queries.rows,
                    near,
                    references.vectors,
                    references.rows,
                    others[column:],
                    same,
                    candidates[:n_candidates],
                    radius,
                    limit,
                    pairs,
                    distances,
                    n_found,
                )
    return pairs[:n_found], distances[:n_found]


@_compiled
def _queries_near(products, cell, other, most, first, near):
    """Set ``near`` to the places of a cell with a lead of at most ``most``; return number and least lead."""
    n, least = 0, np.float32(1e30)
    for row in range(products.shape[1]):
        lead = products[cell, row] - products[other, row]
        if lead <= most:
            near[n] = first + row
            n += 1
            least = min(least, lead)
    return n, least


@_compiled
def _references_near(vectors, rows, start, stop, direction, most, near):
    """Set ``near`` to the places from ``start`` to ``stop`` whose lead is at most ``most``."""
    n = 0
    for place in range(start, stop):
        if _product(vectors, rows[place], direction) <= most:
            near[n] = place
            n += 1
    return n


@_fast
def _product(vectors, row, direction):
    total = np.float32(0)
    for i in range(len(direction)):
        total += vectors[row, i] * direction[i]
    return total


@_compiled
def _pack(short, places, n, limit, packed):
    """Set ``packed`` to (2 q, 1, limit − q · q) of n queries, in groups of `ROWS`; return their number."""
    n_short = short.shape[1]
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
def _measure(
    queries,
    query_rows,
    near,
    references,
    reference_rows,
    others,
    same,
    candidates,
    radius,
    limit,
    pairs,
    distances,
    n,
):
    """Add the candidates that are within the radius to ``pairs`` and ``distances``; return their number."""
    for candidate in candidates:
        query, reference = near[candidate // WIDTH], others[candidate % WIDTH]
        if same and reference <= query:
            continue
        query, reference = query_rows[query], reference_rows[reference]
        if _squared_distance(queries, query, references, reference) > limit:
            continue
        distance = np.float32(np.sqrt(squared_distance(queries[query], references[reference])))
        if distance <= radius:
            pairs[n, 0], pairs[n, 1], distances[n] = query, reference, distance
            n += 1
    return n


@_fast
def _squared_distance(queries, query, references, reference):
    """Return the squared distance of two rows, summed in any order: several times as fast."""
    total = np.float32(0)
    for i in range(queries.shape[1]):
        total += (queries[query, i] - references[reference, i]) ** 2
    return total


@_compiled
def _with_room(pairs, distances, n):
    """Return arrays with room for n pairs."""
    if n <= len(pairs):
        return pairs, distances
    longer = np.empty((2 * n, 2), np.int64), np.empty(2 * n, np.float32)
    longer[0][: len(pairs)], longer[1][: len(pairs)] = pairs, distances
    return longer
