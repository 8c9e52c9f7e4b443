"""
Epitope scores of receptors, from the labelled receptors near them.

The score of a receptor for an epitope is the log of the epitope's share in the local density. This density is
the sum over all references, background receptors and a constant. The score contrasts epitopes with each
other, like the rule ``contrast`` of `airrvec.benchmark.rules`; the constant gives a receptor far from every
reference a low score.
"""

from collections.abc import Iterator

from airrvec.annotation.candidates import Candidates, no_candidates, stacked
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.benchmark.rules import KERNEL
from airrvec.search import neighbours

import numpy as np
from scipy import sparse

N_NEIGHBOURS = 100  # nearest references, and background receptors, in the density; others are ignored
CONSTANT_DENSITY = np.exp(
    -16.0
)  # constant density: one receptor at 16 kernel widths, 0.8 between unit vectors
MIN_DENSITY = np.exp(-60.0)  # keeps the log of zero density finite
N_REPORTED = 3  # nearest references reported for each receptor
MIN_REFERENCES = 10  # an epitope with fewer references is not called
CHUNK = 65_536  # queries whose neighbours are in memory at once
BLOCK = 8192  # queries whose densities of all epitopes are in memory at once


def search_candidates(
    queries: np.ndarray,
    reference: ReferenceSet,
    vectors: np.ndarray,
    background: np.ndarray,
    *,
    min_references: int = MIN_REFERENCES,
    kernel: float = KERNEL,
    threads: int = 1,
) -> Candidates:
    """
    Return the scores of all candidate epitopes of each query.

    Parameters
    ----------
    queries : ndarray of float32, shape (n, d)
        Vectors of receptors; NaN for a receptor without a vector.
    reference : ReferenceSet
        Reference set to compare with.
    vectors : ndarray of float32, shape (n_references, d)
        Vectors of the references.
    background : ndarray of float32, shape (n_background, d)
        Vectors of background receptors, which are assumed to bind no known epitope.
    min_references : int
        An epitope with fewer references is not a candidate.
    kernel : float
        Kernel width, in the unit of the distances.
    threads : int
        Number of threads.
    """
    options = {"min_references": min_references, "kernel": kernel, "threads": threads}
    return stacked([part[0] for part in chunks(queries, reference, vectors, background, **options)])


def chunks(queries, reference, vectors, background, *, threads: int = 1, **options) -> Iterator[tuple]:
    """Yield candidates, distances and rows of the nearest references, of `CHUNK` queries at once."""
    for start in range(0, max(len(queries), 1), CHUNK):
        chunk = queries[start : start + CHUNK]
        distances, rows = neighbours.nearest(chunk, vectors, N_NEIGHBOURS, threads=threads)
        to_background, _ = neighbours.nearest(chunk, background, N_NEIGHBOURS, threads=threads)
        yield score_neighbours(distances, rows, to_background, reference, **options), distances, rows


def score_neighbours(
    distances: np.ndarray,
    rows: np.ndarray,
    to_background: np.ndarray,
    reference: ReferenceSet,
    *,
    min_references: int = MIN_REFERENCES,
    kernel: float = KERNEL,
) -> Candidates:
    """
    Return the scores of all candidate epitopes from the distances to neighbours.

    The density at a receptor is D = Σ exp(−d / kernel), over the references of an epitope, over all
    references, or over the background. The score is log((D_epitope + LEAST) / (D_all + D_background + FAR)).

    Parameters
    ----------
    distances, rows : ndarray, shape (n, k)
        Distances and row numbers of the nearest references.
    to_background : ndarray, shape (n, b)
        Distances to the nearest background receptors.
    """
    candidate = (reference.epitopes["n_references"] >= min_references).to_numpy()
    labels = sparse.csr_array(reference.labels * candidate.astype(np.float32))
    labels.eliminate_zeros()
    parts = [no_candidates(len(candidate))]
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        density = np.exp(-distances[block].astype(np.float64) / kernel)  # 0 where there is no neighbour
        n, k = density.shape
        places = np.maximum(rows[block], 0).ravel()
        weights = sparse.csr_array((density.ravel(), places, np.arange(n + 1) * k), (n, len(reference)))
        shares = sparse.csr_array(weights @ labels)
        shares.sort_indices()  # the first epitope wins where scores are equal
        total = density.sum(axis=1) + np.exp(-to_background[block] / kernel).sum(axis=1) + CONSTANT_DENSITY
        shares.data = np.log((shares.data + MIN_DENSITY) / np.repeat(total, np.diff(shares.indptr)))
        floor = np.where(rows[block, 0] >= 0, np.log(MIN_DENSITY / total), np.nan)
        parts.append(Candidates(shares, floor))
    return stacked(parts)
