"""
All functions of the search on vectors of hostile shapes, beside all distances at once.

    NUMBA_BOUNDSCHECK=1 python hostile_search.py

A kernel that reads or writes outside of an array then raises an IndexError. ``test_search_bounds.py`` runs
this file; numba compiles with these checks only in a process that is told so before it starts.
"""

import tempfile
from itertools import product
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.repertoire import layout
from airrvec.search import neighbours, radius_search, store, whole_distances

import numpy as np
from scipy.spatial.distance import cdist

SIZES = (0, 1, 7, 40)
WIDTHS = (1, 16, 17)


def vectors(n: int, width: int, seed: int) -> np.ndarray:
    """Some vectors; every fifth but the first has no number, or one that is NaN or infinite."""
    found = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    found[5::15] = np.nan
    found[10::15, -1] = np.inf
    found[15::15, 0] = np.nan
    return found


def distances_of(queries: np.ndarray, references: np.ndarray) -> np.ndarray:
    """All distances, infinite where there is no vector."""
    usable = [np.isfinite(part).all(axis=1) for part in (queries, references)]
    whole = cdist(*(np.where(np.isfinite(part), part, 0) for part in (queries, references)))
    return np.where(usable[0][:, None] & usable[1], whole, np.inf)


def check_nearest(found: np.ndarray, rows: np.ndarray, whole: np.ndarray, k: int) -> None:
    expected = np.sort(np.pad(whole, ((0, 0), (0, k)), constant_values=np.inf), axis=1)[:, :k]
    expected = expected[:, : found.shape[1]]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert ((rows < 0) == np.isinf(expected)).all()
    assert rows.max(initial=-1) < whole.shape[1]


def check_within(query: np.ndarray, rows: np.ndarray, whole: np.ndarray, radius: float) -> None:
    expected = np.isfinite(whole) & (whole <= radius)
    unsure = np.isfinite(whole) & (abs(np.where(np.isfinite(whole), whole, 9) - radius) < 1e-4)
    found = np.zeros(whole.shape, bool)
    found[query, rows] = True
    assert (found == expected)[~unsure].all()


def refused(function, *arguments, error=ValueError, **options) -> None:
    try:
        function(*arguments, **options)
    except error:
        return
    raise AssertionError(f"{function.__name__} takes {[np.shape(part) for part in arguments]}")


def stored(folder: Path, references: np.ndarray, centres: np.ndarray) -> store.Store:
    """The references with a vector in one segment, which has rows of all."""
    usable = np.flatnonzero(np.isfinite(references).all(axis=1))
    cell = neighbours.cells_of(references[usable], centres)
    store.write_segment(folder, references[usable], usable, cell, len(centres))
    segment = store.Segment(folder, references.shape[1], "")
    return store.Store([segment], [max(len(references), 1)], centres)


def search_all(n: int, m: int, width: int) -> None:
    queries, references = vectors(n, width, 1), vectors(m, width, 2)
    whole = distances_of(queries, references)
    with tempfile.TemporaryDirectory() as folder:
        made = stored(Path(folder), references, vectors(3, width, 3))
        for k in (0, 1, m, m + 1, 3 * m + 70):
            check_nearest(*neighbours.nearest(queries, references, k, threads=2), whole, k)
            if k:
                check_nearest(*store.nearest(made, queries, k), whole, k)
        for radius in (0.0, 0.3 * width**0.5, 3.0 * width**0.5, 1e30, np.inf):
            offsets, rows, _ = radius_search.within(queries, references, radius, threads=2)
            check_within(np.repeat(np.arange(n), np.diff(offsets)), rows, whole, radius)
            query, rows, distances = store.within(made, queries, radius)
            check_within(query, rows, whole, radius)
            near = store.n_near(queries, references, query, distances, threads=1)
            assert len(near) == 0 or 0 <= near.min() <= near.max() <= m
            first, second, _ = radius_search.pairs_within(references, radius)
            own = np.triu(np.where(np.eye(m, dtype=bool), np.inf, distances_of(references, references)))
            check_within(first, second, np.where(np.tri(m, dtype=bool), np.inf, own), radius)
    index = neighbours.nearest(queries, references, 5, approximate_above=-1) if min(n, m) > 16 else None
    assert index is None or index[1].max() < m
    if n and np.isfinite(whole).any():
        mapped = references[np.isfinite(references).all(axis=1)]
        if len(mapped) >= 3:
            layout.place_on_map(queries[:1], mapped, mapped[:, :2], threads=1)


def refuse_all() -> None:
    for width, other in ((8, 16), (16, 8), (64, 63), (1, 0), (0, 0)):
        for n, m in product((1, 40), (1, 40)):
            queries, references = vectors(n, max(width, 1), 1)[:, :width], np.ones((m, other), np.float32)
            refused(neighbours.nearest, queries, references, 3)
            refused(radius_search.within, queries, references, 0.5)
            refused(store.n_near, queries, references, np.zeros(1, int), np.ones(1), threads=1)
            refused(store.nearest, store.Store([], [], references), queries, 3)
            refused(store.within, store.Store([], [], references), queries, 0.5)
            segment = store.Segment(Path(), width, "")
            if width != other:
                refused(store.Store, [segment], [m], references)
    one, flat = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    refused(neighbours.nearest, flat, one, 1)
    refused(neighbours.nearest, one, flat, 1)
    for radius in (-1.0, np.nan):
        refused(radius_search.within, one, one, radius)
    refused(neighbours.nearest, one * 1e20, one, 1, error=InputError)
    refused(radius_search.within, one, one * 1e20, 1.0, error=InputError)
    refused(neighbours.nearest, one, one.astype(float) * 1e300, 1, error=InputError)
    counts = np.array([[3, 1, 2]])
    refused(whole_distances.nearest_of_distances, counts, 4)
    refused(whole_distances.nearest_of_distances, counts, -1)
    refused(whole_distances.nearest_of_distances, -counts, 2)
    assert whole_distances.nearest_of_distances(counts, 3)[1].tolist() == [[1, 2, 0]]


if __name__ == "__main__":
    refuse_all()
    for n, m, width in product(SIZES, SIZES, WIDTHS):
        search_all(n, m, width)
    search_all(300, 2500, 16)  # several blocks and cells
    print("within bounds")
