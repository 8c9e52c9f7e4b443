"""How far the receptors of two samples, or of two conditions, lie apart in the space of vectors."""

from itertools import combinations
from math import comb

import numpy as np
from scipy.spatial.distance import cdist, pdist

N_BANDWIDTH = 2000  # vectors whose median distance is the kernel's width


def frechet_distance(first: np.ndarray, second: np.ndarray) -> float:
    """
    Fréchet distance of the two normal distributions that have the samples' means and covariances.

    d² = |μ₁ − μ₂|² + tr(Σ₁ + Σ₂ − 2 (Σ₁ Σ₂)^½) (Dowson and Landau 1982, Journal of Multivariate Analysis
    12, 450).

    Parameters
    ----------
    first, second : ndarray, shape (n, d) and (m, d)
        At least two vectors each.
    """
    means = first.mean(axis=0) - second.mean(axis=0)
    covariances = [np.cov(sample, rowvar=False) for sample in (first, second)]
    values, axes = np.linalg.eigh(covariances[0])
    root = axes * np.sqrt(np.clip(values, 0, None)) @ axes.T
    # The same eigenvalues as of Σ₁ Σ₂, of a symmetric matrix.
    shared = np.sqrt(np.clip(np.linalg.eigvalsh(root @ covariances[1] @ root), 0, None)).sum()
    squared = means @ means + sum(np.trace(matrix) for matrix in covariances) - 2 * shared
    return float(np.sqrt(max(squared, 0)))


def bandwidth(vectors: np.ndarray, rng: np.random.Generator) -> float:
    """The median distance of some of the vectors, the usual width of a Gaussian kernel."""
    return float(np.median(pdist(rng.permutation(vectors)[:N_BANDWIDTH])))


def gaussian(first: np.ndarray, second: np.ndarray, width: float) -> np.ndarray:
    """exp(−|x − y|² / 2 width²) of all pairs, shape (n, m)."""
    return np.exp(cdist(first, second, "sqeuclidean") / (-2 * width**2))


def mmd(kernel: np.ndarray, in_first: np.ndarray) -> np.ndarray:
    """
    Squared maximum mean discrepancy, the unbiased estimate, of one or many divisions of the vectors.

    mean k(x, x') + mean k(y, y') − 2 mean k(x, y) over different vectors (Gretton et al. 2012, Journal of
    Machine Learning Research 13, 723, equation 3). About 0, also below, if the samples are of one kind.

    Parameters
    ----------
    kernel : ndarray, shape (n, n)
        Of all vectors.
    in_first : ndarray of bool, shape (n, n_divisions)
        Which are the first sample; of each division as many, from 2 to n − 2.

    Returns
    -------
    ndarray, shape (n_divisions,)
    """
    kernel = kernel - np.diag(np.diag(kernel))
    chosen = in_first.astype(kernel.dtype)
    n = chosen[:, 0].sum()
    m = len(kernel) - n
    within_first = ((kernel @ chosen) * chosen).sum(axis=0)
    between = kernel.sum(axis=0) @ chosen - within_first
    within_second = kernel.sum() - within_first - 2 * between
    return within_first / (n * (n - 1)) + within_second / (m * (m - 1)) - 2 * between / (n * m)


def divisions(n: int, n_first: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """
    Ways to choose ``n_first`` of ``n``: all, where they are at most ``n_permutations``, else random ones.

    Returns
    -------
    ndarray of bool, shape (n, n_divisions)
        All of them contain the one that was observed, the first ``n_first``, in the first place; random ones
        follow it.
    """
    if comb(n, n_first) <= n_permutations:
        chosen = np.zeros((n, comb(n, n_first)), bool)
        for column, rows in enumerate(combinations(range(n), n_first)):
            chosen[list(rows), column] = True
        return chosen
    chosen = np.zeros((n, n_permutations + 1), bool)
    chosen[:n_first] = True
    chosen[:, 1:] = rng.permuted(chosen[:, 1:], axis=0)
    return chosen


def permutation_p(values: np.ndarray) -> float:
    """
    Share of the divisions whose statistic is at least that of the first one, which is the observed one.

    Never 0, as the observed division is one of them (Phipson and Smyth 2010, Statistical Applications in
    Genetics and Molecular Biology 9, article 39).
    """
    return float((values >= values[0] - 1e-12).mean())


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Rates of false discoveries; NaN stays."""
    from scipy.stats import false_discovery_control

    known = np.isfinite(p)
    rates = np.full(len(p), np.nan)
    if known.any():
        rates[known] = false_discovery_control(p[known])
    return rates
