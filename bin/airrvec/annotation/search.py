"""
What receptors may bind, from labelled receptors about them.

A receptor's score for an epitope is the log of the epitope's share in the density about it: of all
references, of background receptors, and of nothing at all. It contrasts epitopes with each other, as the
rule ``contrast`` of `airrvec.benchmark.rules` does, and lets a receptor that is far from every reference
score low.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from airrvec.annotation.reference_set import Reference
from airrvec.benchmark.rules import KERNEL
from airrvec.search import neighbours

K = 100  # references that make the density; those farther away add nothing to it
FAR = np.exp(-16.0)  # density of nothing: of one receptor 16 kernels away, 0.8 for unit vectors
LEAST = np.exp(-60.0)  # so that the log of no density is a number
N_SHOWN = 3  # nearest references of a receptor that are reported
MIN_REFERENCES = 10  # an epitope with fewer is not called
CHUNK = 65_536  # queries whose neighbours are in memory at once
BLOCK = 8192  # queries whose densities of all epitopes are


@dataclass(frozen=True)
class Found:
    """
    Receptors' best epitopes and nearest references.

    Attributes
    ----------
    epitope : ndarray of int64, shape (n,)
        Row of `Reference.epitopes`; of no meaning where the score is the least one.
    score : ndarray of float64, shape (n,)
        Log share of the epitope in the density about the receptor, 0 at most; NaN without a vector.
    distances, rows : ndarray, shape (n, N_SHOWN)
        As `airrvec.search.neighbours.nearest` gives them.
    """

    epitope: np.ndarray
    score: np.ndarray
    distances: np.ndarray
    rows: np.ndarray


def search(
    queries: np.ndarray,
    reference: Reference,
    vectors: np.ndarray,
    background: np.ndarray,
    *,
    min_references: int = MIN_REFERENCES,
    kernel: float = KERNEL,
    threads: int = 1,
) -> Found:
    """
    Best epitope of each query, its score, and the nearest references.

    Parameters
    ----------
    queries : ndarray of float32, shape (n, d)
        Vectors of receptors; NaN where one has none.
    reference : Reference
        What they are compared with.
    vectors : ndarray of float32, shape (n_references, d)
        Of the references.
    background : ndarray of float32, shape (n_background, d)
        Vectors of receptors that bind nothing known.
    min_references : int
        An epitope with fewer is no candidate.
    kernel : float
        Width of the density, in the distances' unit.
    threads : int
        Of the processor.
    """
    parts = []
    for start in range(0, max(len(queries), 1), CHUNK):
        chunk = queries[start : start + CHUNK]
        distances, rows = neighbours.nearest(chunk, vectors, K, threads=threads)
        to_background, _ = neighbours.nearest(chunk, background, K, threads=threads)
        scored = score_neighbours(
            distances, rows, to_background, reference, min_references=min_references, kernel=kernel
        )
        parts.append((*scored, distances[:, :N_SHOWN], rows[:, :N_SHOWN]))
    return Found(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def score_neighbours(
    distances: np.ndarray,
    rows: np.ndarray,
    to_background: np.ndarray,
    reference: Reference,
    *,
    min_references: int = MIN_REFERENCES,
    kernel: float = KERNEL,
) -> tuple[np.ndarray, np.ndarray]:
    """
    Best epitope and its score from neighbours.

    The density about a receptor is D = Σ exp(−d / kernel), over the references of an epitope, of all
    epitopes, or over the background; the score is log(D_epitope / (D_all + D_background + FAR)).

    Parameters
    ----------
    distances, rows : ndarray, shape (n, k)
        Of the nearest references.
    to_background : ndarray, shape (n, b)
        Distances to the nearest background receptors.

    Returns
    -------
    epitope : ndarray of int64, shape (n,)
    score : ndarray of float64, shape (n,)
        NaN for a receptor without neighbours.
    """
    candidate = (reference.epitopes["n_references"] >= min_references).to_numpy()
    labels = reference.labels * candidate.astype(np.float32)
    epitope, score = np.zeros(len(rows), np.int64), np.full(len(rows), np.nan)
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        density = np.exp(-distances[block].astype(np.float64) / kernel)  # 0 where there is no neighbour
        about = sparse.csr_array(
            (
                density.ravel(),
                np.maximum(rows[block], 0).ravel(),
                np.arange(len(density) + 1) * density.shape[1],
            ),
            (len(density), len(reference)),
        )
        of_epitopes = (about @ labels).toarray() if labels.shape[1] else np.zeros((len(density), 1))
        best = of_epitopes.argmax(axis=1)
        everything = density.sum(axis=1) + np.exp(-to_background[block] / kernel).sum(axis=1) + FAR
        share = (of_epitopes[np.arange(len(best)), best] + LEAST) / everything
        epitope[block] = best
        score[block] = np.where(rows[block, 0] >= 0, np.log(share), np.nan)
    return epitope, score
