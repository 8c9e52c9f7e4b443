"""Short vectors, which are never farther apart than the vectors: they exclude pairs beyond a radius."""

from dataclasses import dataclass

from airrvec.core.seeds import numbered_generator

import numpy as np

N_SAMPLED = 20_000  # vectors whose components are computed
N_PAIRED = 500  # vectors whose distances to as many others are computed
STEP = 4  # numbers of components that are compared differ by it
# Time of a distance that is computed from whole vectors, in that of one component of the others.
WHOLE = 3000


@dataclass(frozen=True)
class LowerBounds:
    """
    Short vectors of vectors.

    Attributes
    ----------
    mean : ndarray of float64, shape (d,)
    axes : ndarray of float64, shape (d, p)
        Orthonormal.
    """

    mean: np.ndarray
    axes: np.ndarray

    def short(self, vectors: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the short vectors of n rows of ``vectors``: float32, shape (n, p + 1)."""
        apart = vectors[rows] - self.mean
        components = apart @ self.axes
        rest = (apart**2).sum(axis=1) - (components**2).sum(axis=1)
        return np.column_stack([components, np.sqrt(np.maximum(rest, 0))]).astype(np.float32)

    def longest(self, vectors: np.ndarray) -> float:
        """Return the greatest length of a short vector of vectors, shape (n, d)."""
        starts = range(0, len(vectors), N_SAMPLED)
        return max(
            float(np.linalg.norm(vectors[start : start + N_SAMPLED] - self.mean, axis=1).max())
            for start in starts
        )


def lower_bounds(queries: np.ndarray, references: np.ndarray, radius: float, *, seed: int) -> LowerBounds:
    """
    Return the bounds with which the least time is expected for a search within a radius.

    Parameters
    ----------
    queries, references : ndarray of float32, shape (n, d) and (m, d)
        Finite.
    """
    rng = numbered_generator(seed)
    sample = references[rng.permutation(len(references))[:N_SAMPLED]].astype(np.float64)
    mean = sample.mean(axis=0)
    _, axes = np.linalg.eigh((sample - mean).T @ (sample - mean))
    whole = LowerBounds(mean, axes[:, ::-1])
    first, second = (
        whole.short(part, rng.permutation(len(part))[:N_PAIRED])[:, :-1].astype(np.float64)
        for part in (queries, references)
    )
    d = axes.shape[1]
    candidates = [p for p in range(STEP, d + 1, STEP) if p < d] or [d]
    costs = [_share(first, second, p, radius) * WHOLE + p for p in candidates]
    return LowerBounds(mean, whole.axes[:, : candidates[int(np.argmin(costs))]])


def _share(first: np.ndarray, second: np.ndarray, p: int, radius: float) -> float:
    """Return the share of pairs whose short vectors of p components are within the radius."""
    short = [
        np.column_stack([part[:, :p], np.sqrt((part[:, p:] ** 2).sum(axis=1))]) for part in (first, second)
    ]
    squares = [(part**2).sum(axis=1) for part in short]
    distances = squares[0][:, None] + squares[1] - 2 * short[0] @ short[1].T
    return float((distances <= radius**2).mean())
