"""
Diversity of repertoires and overlap between them.

A Hill number (Hill 1973, Ecology 54, 427) is the number of equally frequent receptors with the same
diversity. Order 0 is the number of receptors, order 1 is exp of Shannon's entropy, and order 2 is one over
the probability that two cells, drawn with replacement, carry the same receptor.
"""

from itertools import pairwise

import numpy as np

ORDERS = (0, 1, 2)
# Drawn cells further from their mean than 12 standard deviations plus 40 have a probability below 1e-20.
WIDTHS, FEWEST = 12, 40
BLOCK = 2**20  # probabilities in memory at once


def hill_numbers(counts: np.ndarray) -> np.ndarray:
    """
    Return the Hill numbers of orders 0, 1 and 2, shape (3,).

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Number of cells of each receptor, above 0.
    """
    return _hill(np.ones(len(counts)), counts / counts.sum())


def rarefied_hill_numbers(counts: np.ndarray, depth: int) -> np.ndarray:
    """
    Return the expected Hill numbers of ``depth`` cells drawn without replacement, shape (3,).

    They are computed from the expected numbers of receptors with 1, 2, … drawn cells, by hypergeometric
    distributions (Chao et al. 2014, Ecological Monographs 84, 45, equation 5).

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Number of cells of each receptor, above 0.
    depth : int
        Number of drawn cells, from 1 to the number of cells.
    """
    n_cells = int(counts.sum())
    sizes, numbers = np.unique(counts, return_counts=True)
    expected = np.zeros(min(depth, int(sizes[-1])) + 1)  # number of receptors with 0, 1, 2, … drawn cells
    mean = sizes * (depth / n_cells)
    width = WIDTHS * np.sqrt(mean * (1 - depth / n_cells)) + FEWEST
    low = np.maximum(np.floor(mean - width).astype(np.int64), np.maximum(0, depth - (n_cells - sizes)))
    high = np.minimum(np.ceil(mean + width).astype(np.int64), np.minimum(sizes, depth))
    block = np.cumsum(high - low + 1) // BLOCK
    for first, last in pairwise(np.searchsorted(block, [*np.unique(block), block[-1] + 1])):
        part = slice(first, last)
        drawn, share, size = _hypergeometric(low[part], high[part], sizes[part], depth, n_cells)
        expected += np.bincount(drawn, share * numbers[part][size], len(expected))
    drawn = np.arange(1, len(expected))
    return _hill(expected[1:], drawn / depth)


def _hypergeometric(
    low: np.ndarray, high: np.ndarray, sizes: np.ndarray, depth: int, n_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the probabilities of low, low + 1, …, high drawn cells of each clone, concatenated over clones.

    Returns
    -------
    drawn, probability, clone : ndarray, shape (Σ (high - low + 1),)
        Number of drawn cells, its probability, and the index of the clone. Probabilities are computed from
        the ratios of consecutive terms, which avoids cancellation between factorials of millions; they sum to
        1 for each clone.
    """
    lengths = high - low + 1
    starts = np.cumsum(lengths) - lengths
    clone = np.repeat(np.arange(len(sizes)), lengths)
    drawn = np.arange(lengths.sum()) - np.repeat(starts - low, lengths)
    previous, size = drawn - 1, sizes[clone]
    with np.errstate(divide="ignore", invalid="ignore"):  # first term of a clone, set to 0 below
        ratio = np.log(size - previous) + np.log(depth - previous)
        ratio -= np.log(drawn) + np.log(n_cells - size - depth + drawn)
    ratio[starts] = 0
    logs = np.cumsum(ratio)
    logs -= np.maximum.reduceat(logs, starts)[clone]
    probability = np.exp(logs)
    return drawn, probability / np.add.reduceat(probability, starts)[clone], clone


def _hill(numbers: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the Hill numbers of ``numbers`` receptors that each have a share ``shares`` of the cells."""
    entropy = -(numbers * shares * np.log(shares)).sum()
    return np.array([numbers.sum(), np.exp(entropy), 1 / (numbers * shares**2).sum()])


def coincidence(counts: np.ndarray) -> float:
    """
    Return the unbiased probability that two different cells carry the same receptor; NaN for one cell.

    Σ n (n − 1) / N (N − 1) (Simpson 1949, Nature 163, 688).
    """
    n = counts.sum()
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else np.nan


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """Return receptors in both samples over receptors in either; counts have shape (n_receptors,)."""
    return float(((first > 0) & (second > 0)).sum() / ((first > 0) | (second > 0)).sum())


def morisita_horn(first: np.ndarray, second: np.ndarray) -> float:
    """
    Return 2 Σ p q / (Σ p² + Σ q²), with p and q the share of each receptor in the two samples.

    See Horn 1966, American Naturalist 100, 419. Counts have shape (n_receptors,).
    """
    p, q = first / first.sum(), second / second.sum()
    return float(2 * (p * q).sum() / ((p**2).sum() + (q**2).sum()))
