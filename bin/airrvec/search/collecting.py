"""
Kernels of the neighbour search: products of queries and references, of which only the least are kept.

A product is the squared distance minus q · q. It is computed in registers and compared with the limit of its
query at once; few are stored. What is stored is a key, an int64 with the product's bits above and the
reference's place below: sorting keys sorts by product, then by place.
"""

from airrvec.model.cpu.lanes import COLUMNS, LANES, ROWS, at_most, load, multiply_block, store

import numba
import numpy as np

WIDTH = COLUMNS * LANES  # references whose products are in registers at once
NO_REFERENCE = np.float32(1e30)  # product of a place without a reference; no infinity, for fast arithmetic
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
                    lane = first
                    while below:
                        if below & 1:
                            keys[row, counts[row]] = _key(bits[i, lane], column + lane)
                            counts[row] += 1
                            if counts[row] == keys.shape[1]:
                                counts[row], limits[row] = _drop(keys[row], n_kept)
                        below >>= 1
                        lane += 1


@_inlined
def copy_strip(references, column, strip):
    """Set ``strip``, shape (d + 1, `WIDTH`), to the references from ``column`` on."""
    for j in range(len(references)):
        for lane in range(0, WIDTH, LANES):
            store(strip, j, lane, load(references, j, column + lane))


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
    for query in range(len(keys)):
        if counts[query] > n_kept:
            select(keys[query, : counts[query]], n_kept)
            counts[query] = n_kept
        for at in range(counts[query]):
            place = keys[query, at] & LOWER
            distance[0] = np.sqrt(squared_distance(queries[query], references[place]))
            keys[query, at] = _key(bits[0], rows[place])


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
    low, high, count = keys.min(), keys.max(), len(keys)
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
