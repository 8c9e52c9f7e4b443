"""Permutation tests, distances between samples or conditions in vector space, FDR."""

from collections.abc import Iterable
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np
import scipy  # whose parts are imported on use

N_BANDWIDTH = 2000  # vectors that determine the kernel width


def frechet_distance(first: np.ndarray, second: np.ndarray) -> float:
    """
    Return the Fréchet distance of two normal distributions with the samples' means and covariances.

    d² = |μ₁ − μ₂|² + tr(Σ₁ + Σ₂ − 2 (Σ₁ Σ₂)^½) (Dowson and Landau 1982, Journal of Multivariate Analysis
    12, 450).

    Parameters
    ----------
    first, second : ndarray, shape (n, d) and (m, d)
        At least two vectors each.

    Examples
    --------
    >>> vectors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> round(frechet_distance(vectors, vectors + [3, 4]), 3)  # the means are 5 apart
    5.0
    """
    return frechet_of(moments(first), moments(second))


def moments(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of vectors, shape (d,) and (d, d)."""
    return vectors.mean(axis=0), np.cov(vectors, rowvar=False)


def frechet_of(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> float:
    """Return `frechet_distance` of samples by their `moments`."""
    means = first[0] - second[0]
    values, axes = np.linalg.eigh(first[1])
    root = axes * np.sqrt(np.clip(values, 0, None)) @ axes.T
    # This symmetric matrix has the eigenvalues of Σ₁ Σ₂.
    shared = np.sqrt(np.clip(np.linalg.eigvalsh(root @ second[1] @ root), 0, None)).sum()
    squared = means @ means + np.trace(first[1]) + np.trace(second[1]) - 2 * shared
    return float(np.sqrt(max(squared, 0)))


def bandwidth(vectors: np.ndarray, rng: np.random.Generator) -> float:
    """Return the median distance of at most `N_BANDWIDTH` vectors, the usual Gaussian kernel width."""
    return float(np.median(scipy.spatial.distance.pdist(rng.permutation(vectors)[:N_BANDWIDTH])))


def gaussian(first: np.ndarray, second: np.ndarray, width: float) -> np.ndarray:
    """Return exp(−|x − y|² / 2 width²) of all pairs, shape (n, m)."""
    return _kernel(*(_scaled(vectors / width) for vectors in (first, second)))


def _scaled(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors, and minus half of their squared lengths."""
    return vectors, -0.5 * np.einsum("ij,ij->i", vectors, vectors)


def _kernel(first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return exp(x · y − |x|² / 2 − |y|² / 2) of all pairs of `_scaled` vectors."""
    exponents = first[0] @ second[0].T
    exponents += first[1][:, None]
    exponents += second[1]
    return np.exp(exponents, out=exponents)


def mean_kernels(
    samples: list[np.ndarray], width: float, weights: list[np.ndarray] | None = None
) -> np.ndarray:
    """
    Return the mean of `gaussian` between the vectors of each pair of samples, shape (n_samples, n_samples).

    In float32, whose error of a kernel, 1e-7, is far below that of a sample's mean.

    Parameters
    ----------
    samples : list of ndarray, each of shape (n, d)
        One vector at least.
    width : float
    weights : list of ndarray, each of shape (n,), optional
        Weights of the vectors, which sum to 1 in each sample; equal ones if not given.
    """
    scaled = [_scaled((vectors / width).astype(np.float32)) for vectors in samples]
    means = np.zeros((len(samples),) * 2)
    for i, j in combinations_with_replacement(range(len(samples)), 2):
        kernel = _kernel(scaled[i], scaled[j])
        mean = weights[i] @ kernel @ weights[j] if weights else kernel.mean(dtype=np.float64)
        means[i, j] = means[j, i] = mean
    return means


def mmd(kernel: np.ndarray, in_first: np.ndarray) -> np.ndarray:
    """
    Return the unbiased estimate of the squared maximum mean discrepancy for each division of the vectors.

    mean k(x, x') + mean k(y, y') − 2 mean k(x, y) over different vectors (Gretton et al. 2012, Journal of
    Machine Learning Research 13, 723, equation 3). Near 0, possibly negative, if the samples have the same
    distribution.

    Parameters
    ----------
    kernel : ndarray of float64, shape (n, n)
        Kernel of all pairs of vectors, symmetric.
    in_first : ndarray of bool, shape (n, n_divisions)
        Whether a vector is in the first sample; the same number in every division, from 2 to n − 2.

    Returns
    -------
    ndarray, shape (n_divisions,)
    """
    chosen = in_first.astype(np.float64, order="F")
    n = chosen[:, 0].sum()
    m = len(kernel) - n
    # The kernel is symmetric: products with a triangle, whose diagonal is taken as 1, are half of those.
    products = scipy.linalg.blas.dtrmm(1.0, kernel.T, chosen, diag=1)
    within_first = 2 * (np.einsum("ij,ij->j", products, chosen) - n)
    sums = kernel.sum(axis=0) - np.diag(kernel)
    between = sums @ chosen - within_first
    within_second = sums.sum() - within_first - 2 * between
    return within_first / (n * (n - 1)) + within_second / (m * (m - 1)) - 2 * between / (n * m)


def divisions(n: int, n_first: int, n_permutations: int, rng: np.random.Generator) -> np.ndarray:
    """
    Return choices of ``n_first`` of ``n``: all, if there are at most ``n_permutations``, else random ones.

    Returns
    -------
    ndarray of bool, shape (n, n_divisions)
        The first division is the observed one, the first ``n_first`` rows.
    """
    if comb(n, n_first) <= n_permutations:
        chosen = np.zeros((n, comb(n, n_first)), bool)
        for column, rows in enumerate(combinations(range(n), n_first)):
            chosen[list(rows), column] = True
        return chosen
    chosen = np.zeros((n_permutations + 1, n), bool)
    chosen[:, :n_first] = True
    rng.permuted(chosen[1:], axis=1, out=chosen[1:])
    return chosen.T


def permutation_p(values: np.ndarray) -> float:
    """
    Return the share of divisions with a statistic of at least that of the first, the observed division.

    Never 0, because the observed division counts (Phipson and Smyth 2010, Statistical Applications in
    Genetics and Molecular Biology 9, article 39).
    """
    return float((values >= values[0] - 1e-12).mean())


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """
    Return false discovery rates; NaN stays NaN.

    Examples
    --------
    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan]))
    array([0.02, 0.04,  nan])
    """
    from scipy.stats import false_discovery_control

    known = np.isfinite(p)
    rates = np.full(len(p), np.nan)
    if known.any():
        rates[known] = false_discovery_control(p[known])
    return rates


def discrete_fdr(p: np.ndarray, laws: Iterable[tuple[np.ndarray, int]]) -> np.ndarray:
    """
    Return false discovery rates of tests that have few possible p-values each.

    At a threshold, the expected number of tests whose p is at most as large, without any effect, over the
    number whose p is (Heyse 2011, in: Recent Advances in Biostatistics, 43; Döhler, Durand and Roquain 2018,
    Electronic Journal of Statistics 12, 1867). A test that cannot reach the threshold costs nothing; where
    all p-values are possible it is the rate of Benjamini and Hochberg.

    Parameters
    ----------
    p : ndarray of float, shape (n,)
        p-values of the tests; tests with a p of 1 may be left out here.
    laws : iterable of (ndarray, int)
        Possible p-values, and how many of all tests have these.

    Examples
    --------
    >>> discrete_fdr(np.array([0.01]), [(np.array([0.01, 1]), 1), (np.array([0.5, 1]), 9)])
    array([0.01])
    """
    possible, expected = [np.empty(0)], [np.empty(0)]
    for values, n in laws:
        values = np.sort(values)
        possible.append(values)
        expected.append(n * np.diff(values, prepend=0))
    steps = np.concatenate(possible)
    order = np.argsort(steps, kind="stable")
    sums = np.concatenate([[0], np.cumsum(np.concatenate(expected)[order])])
    ascending = np.argsort(p, kind="stable")
    reached = np.searchsorted(steps[order], p[ascending] * (1 + 1e-9), side="right")
    rates = sums[reached] / np.arange(1, len(p) + 1)
    result = np.empty(len(p))
    result[ascending] = np.minimum(np.minimum.accumulate(rates[::-1])[::-1], 1)
    return result
