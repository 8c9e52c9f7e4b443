"""Kernel that counts the references within several distances of a query."""

from airrvec.model.cpu.lanes import LANES, ROWS, at_most, load, multiply_block
from airrvec.search.collecting import WIDTH, copy_strip

import numba
import numpy as np

# Squared distances are differences of products, which lose their last digits: equal vectors are counted.
ROUNDING = 2e-6


def limits(queries: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the greatest product of a reference as near as each distance; float32, shape (n, k)."""
    squares = distances.astype(np.float64) ** 2 + ROUNDING - (queries.astype(np.float64) ** 2).sum(1)[:, None]
    return np.minimum(squares, 1e29).astype(np.float32)


@numba.njit(nogil=True, cache=True)
def count(queries, references, limits, counts):
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
