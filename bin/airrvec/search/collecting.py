"""
Kernels that collect the nearest references of queries, by the products of both.

A key of 64 bits holds a product, or a distance, and the place of a reference: keys sort as their products.
"""

from airrvec.core.compiled import compiled, inlined
from airrvec.model.cpu.kernels import WIDTH, copy_strip
from airrvec.model.cpu.lanes import (
    LANES,
    ROWS,
    at_most,
    load,
    lowest_bit,
    multiply_block,
    multiply_whole_pairs,
)

import numba
import numpy as np
from numba.extending import overload

NO_REFERENCE = np.float32(1e30)  # product of a place without a reference; no infinity, for fast arithmetic
GATHERED = 32  # references that are measured at once
UNDECIDED = -NO_REFERENCE  # limit of a query whose nearest references are not known
LOWER = np.int64(0xFFFFFFFF)  # bits of a key that hold the place
NOTHING = np.int64(0x7F800000FFFFFFFF)  # key of an infinite distance, to row -1


def multiply(queries, strip, products):
    """Set ``products``, shape (`ROWS`, `WIDTH`), to those of packed queries and a strip of references."""
    raise NotImplementedError  # compiled code alone


@overload(multiply, jit_options={"nogil": True, "forceinline": True})
def _multiply_of(queries, strip, products):
    def in_float32(queries, strip, products):
        multiply_block(queries, strip, products, 0, 0)

    def rounded(queries, strip, products):
        multiply_whole_pairs(queries, strip, products, 0, 0)

    return in_float32 if queries.dtype == numba.float32 else rounded


@compiled
def collect(queries, references, strips, limits, slack, n_kept, keys, counts):
    """
    Add the references of some strips to the nearest of each query.

    Parameters
    ----------
    queries : ndarray of float32, shape (n / ROWS, d + 1, ROWS)
        (q, 1), packed by `airrvec.model.cpu.kernels.pack_weights`; or as of `airrvec.search.rounded`.
    references : ndarray of float32, shape (d + 1, m)
        Columns (−2 r, r · r); or as of `airrvec.search.rounded`.
    strips : ndarray of int64
        First column of each strip, multiples of `WIDTH`.
    limits : ndarray of float32, shape (n,)
        Greatest product that is kept. Lowered once ``n_kept`` references are nearer.
    slack : float32
        Products that are no farther apart may be in the wrong order.
    n_kept : int
        References that are kept for each query.
    keys : ndarray of int64, shape (n, room)
        ``room`` is greater than ``n_kept``: the more, the fewer selections.
    counts : ndarray of int64, shape (n,)
        Keys in each row. If there is no room for all that may be among the nearest, the query is
        `UNDECIDED`: it has none, and gets no more.
    """
    strip = np.empty((len(references), WIDTH), references.dtype)
    products = np.empty((ROWS, WIDTH), np.float32)
    bits = products.view(np.int32)
    for column in strips:
        copy_strip(references, column, strip)
        for group in range(len(queries)):
            multiply(queries[group], strip, products)
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
                            counts[row], limit = _drop(keys[row], n_kept, slack)
                            limits[row] = min(limits[row], limit)
                            if counts[row] == keys.shape[1]:
                                counts[row], limits[row] = 0, UNDECIDED
                                break


@compiled
def narrow(limits, slack, n_kept, keys, counts):
    """
    Keep the keys that may be among the ``n_kept`` nearest, and lower the limit of each query to them.

    A query whose nearest may have been above its limit is `UNDECIDED`, and has no keys.

    Parameters
    ----------
    limits, slack, n_kept, keys, counts
        As for `collect`.
    """
    for query in range(len(keys)):
        own, count, limit, most = keys[query], counts[query], NO_REFERENCE, NOTHING
        counts[query] = 0
        if count >= n_kept:
            select(own[:count], n_kept)
            greatest = own[0]
            for at in range(1, n_kept):
                greatest = max(greatest, own[at])
            limit, most = _product(greatest) + slack, _highest_key(greatest, slack)
        if limit <= limits[query]:
            limits[query] = limit
            for at in range(count):
                own[counts[query]] = own[at]
                counts[query] += own[at] <= most
        else:
            limits[query] = UNDECIDED
        own[counts[query] :] = NOTHING


@compiled
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


@compiled
def _drop(keys, n_kept, slack):
    """
    Drop keys, shape (n,), all distinct, until few but those that may be the least ``n_kept`` are left.

    A threshold is found by bisection: counting takes a fraction of the time of selecting.

    Returns
    -------
    count : int
        Keys that are left, at the front; less than n without slack.
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
    most = _highest_key(high, slack)
    kept = 0
    for key in keys:
        keys[kept] = key
        kept += key <= most
    return kept, _product(high) + slack


@compiled
def _highest_key(key, slack):
    """Return the highest key of a product that exceeds that of a key by no more than the slack."""
    if slack == 0:
        return key
    limit = np.empty(1, np.float32)
    limit[0] = _product(key) + slack
    return _key(limit.view(np.int32)[0], LOWER)


@compiled
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


@inlined
def _key(bits, place):
    """Return a key; ``bits`` are those of a float32. Those of negative numbers fall as the number rises."""
    ascending = bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))
    return (np.int64(ascending) << np.int64(32)) | np.int64(place)


@inlined
def _product(key):
    """Return the product of a key."""
    bits = np.empty(1, np.int32)
    upper = np.int32(key >> np.int64(32))
    bits[0] = upper ^ ((upper >> np.int32(31)) & np.int32(0x7FFFFFFF))
    return bits.view(np.float32)[0]


@inlined
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


def no_references(n: int, n_kept: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return limits, keys and counts, as of `collect`, of ``n`` queries that were compared with nothing."""
    room = n_kept + max(2 * n_kept, 64)
    limits = np.full(n, NO_REFERENCE / 2, np.float32)
    return limits, np.full((n, room), NOTHING), np.zeros(n, np.int64)


def distances_and_rows(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and rows from keys of `measure`."""
    return (keys >> 32).astype(np.int32).view(np.float32), keys.astype(np.int32).astype(np.int64)
