"""Neighbours by airrvec and by faiss: times, recall, precision; run by `libraries.py`."""

import os
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

from alternation import OWN, TIMES, apart, in_turn, measured, show_header, show_row, times

K, N_QUERIES = 10, 10_000


def measure_neighbours(args, folder: Path) -> None:
    columns = ("Recall", "Error of distances", "Same on 2 threads")
    show_header(f"faiss-cpu {version('faiss-cpu')}", "References", "Search", *TIMES, *columns)
    vectors = folder / "vectors.npy"
    apart(write_vectors, vectors, max(args.references))
    searches = {
        "nearest": {OWN: nearest, "faiss": faiss_nearest, "faiss, kernels": partial(told, faiss_nearest)}
        | {"faiss, kernels, recomputed": faiss_recomputed},
        "radius": {OWN: within, "faiss": faiss_within, "faiss, kernels": partial(told, faiss_within)},
        "approximate": {OWN: partial(nearest, approximate_above=0)}
        | {f"faiss, {n} cells": partial(told, faiss_nearest, n_probed=n) for n in (16, 64)},
    }
    for n in args.references:
        radius = None  # the median distance of the k-th neighbour
        for search, ways in searches.items():
            found = {way: folder / f"{search}-{way}.npy" for way in ways}
            ways = {way: partial(search_measured, find, found[way]) for way, find in ways.items()}
            runs = in_turn(ways, args.rounds, vectors, n, radius)
            exact = folder / f"nearest-{OWN}.npy" if search == "approximate" else found[OWN]
            for way in ways:
                agreement = apart(compare, exact, found[way], vectors, n)
                show_row(f"{n:,}", f"{search}: {way}", *times(runs, way), *agreement, runs[way][0]["stable"])
            radius = radius or float(np.median(np.load(exact)[2][K - 1 :: K]))


def write_vectors(path: Path, n: int) -> None:
    """Write the vectors of ``n`` synthetic receptors."""
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.synthetic import synthesis

    np.save(path, Sceptr("sceptr").embed(synthesis.synthesise(n, seed=1)))


def nearest(queries, references, radius, threads=1, **options) -> tuple[np.ndarray, ...]:
    """Return the neighbours as the number of the query, the row of the reference, and the distance."""
    from airrvec.search import neighbours

    distances, rows = neighbours.nearest(queries, references, K, threads=threads, **options)
    return np.repeat(np.arange(len(queries)), K), rows.ravel(), distances.ravel()


def within(queries, references, radius, threads=1):
    from airrvec.search import radius_search

    offsets, rows, distances = radius_search.within(queries, references, radius, threads=threads)
    return np.repeat(np.arange(len(queries)), np.diff(offsets)), rows, distances


def faiss_nearest(queries, references, radius, threads=1, n_probed=None, k=K):
    import faiss

    faiss.omp_set_num_threads(threads)
    d = references.shape[1]
    index = flat = faiss.IndexFlatL2(d)
    if n_probed:
        index = faiss.IndexIVFFlat(flat, d, int(np.sqrt(len(references))))
        index.train(references)
        index.nprobe = n_probed
    index.add(references)
    squares, rows = index.search(queries, k)
    return np.repeat(np.arange(len(queries)), k), rows.ravel(), np.sqrt(np.maximum(squares, 0)).ravel()


def told(find: Callable, *args, **options):
    """Search with the kernels that numpy's OpenBLAS takes; that of faiss-cpu 1.15 is of 2021."""
    numpys = next(library for library in threadpool_info() if "openblas" in library["prefix"])
    os.environ["OPENBLAS_CORETYPE"] = numpys["architecture"]
    return find(*args, **options)


def faiss_recomputed(queries, references, radius, threads=1):
    """Return the nearest of more candidates, with the distances of their differences, as airrvec does."""
    n_kept = K + 8
    _, rows, _ = told(faiss_nearest, queries, references, radius, threads, k=n_kept)
    blocks = [slice(first, first + 256) for first in range(0, len(queries), 256)]
    rows = rows.reshape(-1, n_kept)
    exact = [np.linalg.norm(queries[block, None] - references[rows[block]], axis=2) for block in blocks]
    exact = np.concatenate(exact)
    order = np.lexsort((rows, exact))[:, :K]
    found = (np.take_along_axis(values, order, 1).ravel() for values in (rows, exact))
    return np.repeat(np.arange(len(queries)), K), *found


def faiss_within(queries, references, radius, threads=1):
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(references.shape[1])
    index.add(references)
    offsets, squares, rows = index.range_search(queries, radius**2)
    query = np.repeat(np.arange(len(queries)), np.diff(offsets.astype(np.int64)))
    order = np.lexsort((rows, query))
    return query, rows[order], np.sqrt(np.maximum(squares, 0))[order]


def search_measured(find: Callable, kept: Path, path: Path, n: int, radius: float | None) -> dict:
    """Measure a search and keep its result; compare one and two threads on the first references."""
    references = np.load(path)[:n]
    few = references[:2_000]
    one, two = (find(few, few, radius, threads) for threads in (1, 2))  # compiles, too
    found, result = measured(lambda: find(references[:N_QUERIES], references, radius))
    np.save(kept, np.array(result))
    return found | {"stable": "yes" if all(map(np.array_equal, one, two)) else "no"}


def compare(exact: Path, found: Path, vectors: Path, n: int) -> tuple[str, str]:
    """Return the share of the true neighbours that were found, and the greatest error of a distance."""
    references = np.load(vectors)[:n].astype(float)
    pairs, found_pairs, distances = np.load(exact)[:2].astype(int), *np.split(np.load(found), [2])
    found_pairs = found_pairs.astype(int)
    recall = np.isin(pairs.T @ [n, 1], found_pairs.T @ [n, 1]).mean()
    true = np.linalg.norm(np.subtract(*references[found_pairs]), axis=1)
    return f"{recall:.4f}", f"{np.abs(distances - true).max():.0e}"
