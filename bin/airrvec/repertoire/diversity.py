"""
Diversity of repertoires and what they share.

Hill numbers (Hill 1973, Ecology 54, 427): the number of equally frequent receptors that would be as diverse.
Of order 0 it is the number of receptors, of order 1 exp of Shannon's entropy, of order 2 one over the
probability that two cells, drawn with replacement, carry the same receptor.
"""

from itertools import pairwise

import numpy as np

ORDERS = (0, 1, 2)
WIDTHS, FEWEST = 12, 40  # standard deviations about the mean, and cells, beyond which nothing is drawn: 1e-20
BLOCK = 2**20  # probabilities in memory at once


def hill_numbers(counts: np.ndarray) -> np.ndarray:
    """
    Hill numbers of the orders 0, 1 and 2, shape (3,).

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Cells of each receptor, above 0.
    """
    return _of_frequencies(np.ones(len(counts)), counts / counts.sum())


def rarefied(counts: np.ndarray, depth: int) -> np.ndarray:
    """
    Expected Hill numbers of ``depth`` cells drawn without replacement, shape (3,).

    From the expected numbers of receptors with 1, 2, … cells among those drawn, which hypergeometric
    distributions give (Chao et al. 2014, Ecological Monographs 84, 45, equation 5).

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Cells of each receptor, above 0.
    depth : int
        From 1 to the number of cells.
    """
    n_cells = int(counts.sum())
    sizes, numbers = np.unique(counts, return_counts=True)
    of_drawn = np.zeros(min(depth, int(sizes[-1])) + 1)  # receptors by how many of their cells are drawn
    mean = sizes * (depth / n_cells)
    width = WIDTHS * np.sqrt(mean * (1 - depth / n_cells)) + FEWEST
    low = np.maximum(np.floor(mean - width).astype(np.int64), np.maximum(0, depth - (n_cells - sizes)))
    high = np.minimum(np.ceil(mean + width).astype(np.int64), np.minimum(sizes, depth))
    block = np.cumsum(high - low + 1) // BLOCK
    for first, last in pairwise(np.searchsorted(block, [*np.unique(block), block[-1] + 1])):
        part = slice(first, last)
        drawn, share, size = _hypergeometric(low[part], high[part], sizes[part], depth, n_cells)
        of_drawn += np.bincount(drawn, share * numbers[part][size], len(of_drawn))
    drawn = np.arange(1, len(of_drawn))
    return _of_frequencies(of_drawn[1:], drawn / depth)


def _hypergeometric(
    low: np.ndarray, high: np.ndarray, sizes: np.ndarray, depth: int, n_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Probabilities of low, low + 1, …, high cells of each clone among those drawn, one clone after another.

    Returns
    -------
    drawn, probability, clone : ndarray, shape (Σ (high - low + 1),)
        Probabilities by the ratio of one to the next, so that no factorial of millions cancels another;
        their sum is 1 for each clone.
    """
    lengths = high - low + 1
    starts = np.cumsum(lengths) - lengths
    clone = np.repeat(np.arange(len(sizes)), lengths)
    drawn = np.arange(lengths.sum()) - np.repeat(starts - low, lengths)
    before, size = drawn - 1, sizes[clone]
    with np.errstate(divide="ignore", invalid="ignore"):  # at a clone's start, which is set to 0
        ratio = np.log(size - before) + np.log(depth - before)
        ratio -= np.log(drawn) + np.log(n_cells - size - depth + drawn)
    ratio[starts] = 0
    logs = np.cumsum(ratio)
    logs -= np.maximum.reduceat(logs, starts)[clone]
    probability = np.exp(logs)
    return drawn, probability / np.add.reduceat(probability, starts)[clone], clone


def _of_frequencies(numbers: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Of ``numbers`` receptors that make up each a share of the cells."""
    entropy = -(numbers * shares * np.log(shares)).sum()
    return np.array([numbers.sum(), np.exp(entropy), 1 / (numbers * shares**2).sum()])


def coincidence(counts: np.ndarray) -> float:
    """
    Probability that two different cells carry the same receptor, unbiased; NaN of a single cell.

    Σ n (n − 1) / N (N − 1) (Simpson 1949, Nature 163, 688).
    """
    n = counts.sum()
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else np.nan


def coverage(counts: np.ndarray) -> float:
    """
    Estimated share of the repertoire's cells whose receptor was seen.

    1 − f1/n · (n − 1) f1 / ((n − 1) f1 + 2 f2), with f1 and f2 the receptors seen once and twice (Chao and
    Jost 2012, Ecology 93, 2533, equation 4a).
    """
    n, once, twice = counts.sum(), (counts == 1).sum(), (counts == 2).sum()
    if not once:
        return 1.0
    if n == 1:
        return 0.0
    if not twice:  # as that paper's appendix
        return float(1 - once / n * (n - 1) * (once - 1) / ((n - 1) * (once - 1) + 2))
    return float(1 - once / n * (n - 1) * once / ((n - 1) * once + 2 * twice))


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """Receptors that both samples carry, over those that any does; counts of shape (n_receptors,)."""
    return float(((first > 0) & (second > 0)).sum() / ((first > 0) | (second > 0)).sum())


def morisita_horn(first: np.ndarray, second: np.ndarray) -> float:
    """
    2 Σ p q / (Σ p² + Σ q²), with p and q the samples' shares of each receptor (Horn 1966, American Naturalist
    100, 419); counts of shape (n_receptors,).
    """
    p, q = first / first.sum(), second / second.sum()
    return float(2 * (p * q).sum() / ((p**2).sum() + (q**2).sum()))
