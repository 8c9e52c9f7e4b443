"""Nearest neighbours from whole distances, such as those of TCRdist."""

from airrvec.core.compiled import compiled

import numpy as np

STRETCH = 256  # columns after which the limit of a row is lowered


def nearest_of_distances(distances: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
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
    values, columns = np.empty((len(distances), k), distances.dtype), np.empty((len(distances), k), np.int64)
    if columns.size:
        _sort_rows(distances, int(distances.max()), values, columns)
    return values, columns


@compiled
def _sort_rows(distances, greatest, values, columns):
    n, k = distances.shape[1], values.shape[1]
    counts = np.empty(greatest + 1, np.int64)
    candidates = np.empty(n, np.int64)  # columns within the limit when they were read
    for row in range(len(distances)):
        counts[:] = 0
        limit, n_candidates = greatest, 0
        for start in range(0, n, STRETCH):
            for column in range(start, min(start + STRETCH, n)):
                distance = distances[row, column]
                if distance <= limit:
                    counts[distance] += 1
                    candidates[n_candidates] = column
                    n_candidates += 1
            limit = _least_with(counts, k, limit)
        before = 0
        for distance in range(limit + 1):
            count = counts[distance]
            counts[distance] = before  # from here on, the place of the next one
            before += count
        for column in candidates[:n_candidates]:
            distance = distances[row, column]
            if distance <= limit:
                place = counts[distance]
                if place < k:
                    values[row, place] = distance
                    columns[row, place] = column
                counts[distance] = place + 1


@compiled
def _least_with(counts, k, limit):
    """Return the least distance within which k were counted, or the limit if there are fewer."""
    below = 0
    for distance in range(limit):
        below += counts[distance]
        if below >= k:
            return distance
    return limit
