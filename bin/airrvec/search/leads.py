"""
What excludes rows of two cells along the line of their centres.

The lead of a row is its product with its own centre minus that with the other centre. The leads of a query
and of a reference sum to the product of their difference and that of their centres: at most the radius, times
the distance of the centres, if the two are within the radius.
"""

import numba
import numpy as np

BUCKETS = 64  # shares of the range of leads: rows are sorted by them
NONE = np.float32(1e30)  # lead of no row

_compiled = numba.njit(nogil=True, cache=True)
_fast = numba.njit(nogil=True, cache=True, fastmath=True)


@_compiled
def gathered(vectors, rows):
    """Return rows of a matrix in their order, as indexing does, without the interpreter lock."""
    found = np.empty((len(rows), vectors.shape[1]), vectors.dtype)
    for i in range(len(rows)):
        found[i] = vectors[rows[i]]
    return found


@_fast
def own_products(vectors, cells, centres):
    """Return the product of each vector, shape (n, d), with the centre of its cell: float32, shape (n,)."""
    products = np.empty(len(vectors), np.float32)
    for row in range(len(vectors)):
        product = np.float32(0)
        for i in range(vectors.shape[1]):
            product += vectors[row, i] * centres[cells[row], i]
        products[row] = product
    return products


@_compiled
def near(queries, to_other, references, to_cell, reach, sizes):
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
    rows, floors = _by_lead(queries, to_other, least, reach - least_other, sizes[0])
    other_rows, other_floors = _by_lead(references, to_cell, least_other, reach - least, sizes[1])
    return rows, floors, other_rows, other_floors


@_fast
def _least(own, other):
    least = NONE
    for row in range(len(own)):
        least = min(least, own[row] - other[row])
    return least


@_compiled
def _by_lead(own, other, least, most, size):
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


@_compiled
def _bucket(lead, least, scale):
    return min(max(int((lead - least) * scale), 0), BUCKETS - 1)
