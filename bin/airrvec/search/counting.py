"""Nearest neighbours from whole distances, such as those of TCRdist."""

from airrvec.core.runtime import in_threads

import numba
import numpy as np

PART = 64  # rows that one thread sorts at once


def nearest(distances: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the k least distances of each row, sorted by counting.

    Parameters
    ----------
    distances : ndarray of int, shape (n, m)
        At least 0. Time and memory grow with the greatest one.
    k : int
        Number of neighbours, at most m.

    Returns
    -------
    distances : ndarray of the same type, shape (n, k)
        Ascending.
    columns : ndarray of int64, shape (n, k)
        At equal distances the lower column is first.

    Raises
    ------
    ValueError
        If ``k`` is above m, or a distance below 0.
    """
    if not 0 <= k <= distances.shape[1] or distances.min(initial=0) < 0:
        raise ValueError(f"no {k} least distances of the shape {distances.shape}, the least of them below 0")
    n = len(distances)
    values, columns = np.empty((n, k), distances.dtype), np.empty((n, k), np.int64)
    if n and k:
        greatest = int(distances.max())

        def sort_part(part: slice) -> None:
            _sort_rows(distances[part], greatest, values[part], columns[part])

        parts = [slice(start, start + PART) for start in range(0, n, PART)]
        for _ in in_threads(sort_part, parts, numba.get_num_threads()):
            pass
    return values, columns


@numba.njit(nogil=True, cache=True)
def _sort_rows(distances, greatest, values, columns):
    k = values.shape[1]
    places = np.empty(greatest + 1, np.int64)
    for row in range(len(distances)):
        places[:] = 0
        for distance in distances[row]:
            places[distance] += 1
        before = 0
        for distance in range(greatest + 1):
            count = places[distance]
            places[distance] = before
            before += count
        limit = 0  # distances above it are beyond the k least ones
        while limit < greatest and places[limit + 1] < k:
            limit += 1
        for column in range(distances.shape[1]):
            distance = distances[row, column]
            if distance <= limit:
                place = places[distance]
                if place < k:
                    values[row, place] = distance
                    columns[row, place] = column
                places[distance] = place + 1
