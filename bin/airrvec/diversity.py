"""
Diversity of repertoires and what they share.

Hill numbers (Hill 1973, Ecology 54, 427): the number of equally frequent receptors that would be as diverse.
Of order 0 it is the number of receptors, of order 1 exp of Shannon's entropy, of order 2 one over the
probability that two cells, drawn with replacement, carry the same receptor.
"""

import numpy as np
from scipy import stats

ORDERS = (0, 1, 2)


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
    drawn = np.arange(1, min(depth, int(sizes[-1])) + 1)
    of_drawn = numbers @ stats.hypergeom.pmf(drawn, n_cells, sizes[:, None], depth)
    return _of_frequencies(of_drawn, drawn / depth)


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
