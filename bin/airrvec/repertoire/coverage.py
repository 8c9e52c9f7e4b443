"""
Sample coverage, and Hill numbers of samples at equal coverage.

The coverage of a sample is the share of the repertoire's cells whose receptor is in the sample. Samples of
equal coverage are equally complete, whatever their numbers of cells; samples of equal numbers of cells are
not (Chao and Jost 2012, Ecology 93, 2533). Fewer cells than a sample has are drawn without replacement
(rarefaction), more are predicted, up to twice their number (extrapolation; Chao et al. 2014, Ecological
Monographs 84, 45). All counts are positive and have shape (n_receptors,).
"""

from collections.abc import Iterable

from airrvec.repertoire.diversity import hill_numbers, rarefied_hill_numbers

import numpy as np
from scipy import integrate, special

FURTHEST = 2  # beyond twice the sample's cells, predictions are not reliable (Chao et al. 2014)
FEW_CELLS = 20  # fewer drawn cells show little of a sample
SMALL = 50  # cells of a sample whose coverage is known too badly to decide for larger ones
_CLOSE = 1e-9  # relative error of a coverage


def coverage(counts: np.ndarray, n_drawn: int | None = None) -> float:
    """
    Return the expected coverage of ``n_drawn`` cells of the repertoire.

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Number of cells of each receptor.
    n_drawn : int, optional
        Number of cells, at least 1; the sample's own if not given.

    Notes
    -----
    Chao and Jost 2012, equation 4a for the sample itself, and its interpolation and extrapolation. f1 and f2
    are the numbers of receptors seen once and twice; if f2 is 0, it is replaced as in the appendix.
    """
    n = int(counts.sum())
    n_drawn = n if n_drawn is None else n_drawn
    if n_drawn < n:
        sizes, numbers = np.unique(counts, return_counts=True)
        numbers, sizes = numbers[sizes <= n - n_drawn], sizes[sizes <= n - n_drawn]
        logs = special.gammaln(n - sizes + 1) - special.gammaln(n - sizes - n_drawn + 1)
        logs += special.gammaln(n - n_drawn) - special.gammaln(n)
        return float(np.clip(1 - (numbers * sizes / n * np.exp(logs)).sum(), 0, 1))
    once = int((counts == 1).sum())
    return 1 - once / n * _ratio(counts) ** (n_drawn - n + 1) if once else 1.0


def _ratio(counts: np.ndarray) -> float:
    """Return by which factor one more cell reduces the missing coverage, 0 to 1."""
    n, once, twice = int(counts.sum()), int((counts == 1).sum()), int((counts == 2).sum())
    if n == 1:
        return 1.0  # a single cell says nothing about the repertoire
    if twice:
        return (n - 1) * once / ((n - 1) * once + 2 * twice)
    return (n - 1) * (once - 1) / ((n - 1) * (once - 1) + 2) if once else 0.0


def reach(counts: np.ndarray) -> float:
    """Return the coverage of twice the sample's cells; 0 if no receptor has two cells."""
    return coverage(counts, FURTHEST * int(counts.sum())) if counts.max() > 1 else 0.0


def cells_at_coverage(counts: np.ndarray, target: float) -> int:
    """
    Return the smallest number of cells whose expected coverage is at least ``target``.

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Number of cells of each receptor.
    target : float
        At most the `reach` of the sample.
    """
    low, high = 0, FURTHEST * int(counts.sum())  # coverage grows with the number of cells
    while high - low > 1:
        middle = (low + high) // 2
        if coverage(counts, middle) >= target * (1 - _CLOSE):
            high = middle
        else:
            low = middle
    return high


def reference_coverage(samples: Iterable[np.ndarray]) -> float | None:
    """
    Return the coverage at which most samples can be compared; the lowest, if several suit as many samples.

    It is the `reach` of one of the samples. A sample can be compared at a coverage that it reaches, if it
    needs at least `FEW_CELLS` cells for it. Samples of fewer than `SMALL` cells decide only if most samples
    are not larger. Thus one sample of few cells, or of few repeated receptors, flattens no other. None if no
    sample has a receptor with two cells.

    Parameters
    ----------
    samples : iterable of ndarray of int, each of shape (n_receptors,)
        Number of cells of each receptor, of each sample.
    """
    deciding = [counts for counts in samples if counts.max() > 1]
    large = [counts for counts in deciding if counts.sum() >= SMALL]
    if 2 * len(large) > len(deciding):
        deciding = large
    if not deciding:
        return None
    reached = np.array([reach(counts) for counts in deciding])
    few = np.array([_coverage_of_few(counts) for counts in deciding])
    candidates = np.unique(reached)
    suited = [((few < target) & (target <= reached)).sum() for target in candidates]
    return float(candidates[int(np.argmax(suited))])


def _coverage_of_few(counts: np.ndarray) -> float:
    """Return the highest coverage for which a sample needs fewer than `FEW_CELLS` cells."""
    return coverage(counts, min(FEW_CELLS - 1, FURTHEST * int(counts.sum())))


def hill_numbers_at(counts: np.ndarray, n_drawn: int) -> np.ndarray:
    """
    Return the expected Hill numbers of orders 0, 1 and 2 of ``n_drawn`` cells, shape (3,).

    Parameters
    ----------
    counts : ndarray of int, shape (n_receptors,)
        Number of cells of each receptor.
    n_drawn : int
        Number of cells, at least 1. Fewer than the sample has: exact. More: predicted by the estimators of
        Chao et al. 2014 for orders 0 and 2, and for order 1 as in iNEXT 3, which lets the difference from
        Chao, Wang and Jost's estimate of the entropy (2013, Methods in Ecology and Evolution 4, 1091) fall by
        the same factor with each cell.
    """
    n = int(counts.sum())
    if n_drawn <= n:
        return rarefied_hill_numbers(counts, n_drawn) if n_drawn < n else hill_numbers(counts)
    once = int((counts == 1).sum())
    if not once:  # complete
        return hill_numbers(counts)
    more = n_drawn - n
    ratio = _ratio(counts)
    unseen = once * ratio / (1 - ratio) / n  # Chao1
    order_0 = len(counts) + unseen * (1 - ratio**more)
    pairs = (counts * (counts - 1.0)).sum() / (n * (n - 1))
    order_2 = min(1 / (1 / n_drawn + (1 - 1 / n_drawn) * pairs), order_0)
    # The three predictions of a few cells may contradict each other; Hill numbers fall with their order.
    return np.array([order_0, np.clip(_order_1(counts, more), order_2, order_0), order_2])


def _order_1(counts: np.ndarray, more: int) -> float:
    """Return the Hill number of order 1 after ``more`` further cells."""
    observed, limit = hill_numbers(counts)[1], np.exp(entropy(counts))
    before = rarefied_hill_numbers(counts, int(counts.sum()) - 1)[1]
    if not limit > observed:
        return float(observed)
    share = np.clip((observed - before) / (limit - before), 0, 1)
    return float(observed + (limit - observed) * (1 - (1 - share) ** more))


def entropy(counts: np.ndarray) -> float:
    """
    Return the estimated Shannon entropy of the repertoire, in nats.

    The estimator of Chao, Wang and Jost 2013. Its sum Σ q^j / (n + j - 1) over j = 1, 2, … is computed as
    q ∫ t^(n-1) / (1 - q t) dt from 0 to 1, which loses no digits for large n.
    """
    n, once = int(counts.sum()), int((counts == 1).sum())
    sizes, numbers = np.unique(counts, return_counts=True)
    seen = (numbers * sizes / n * (special.digamma(n) - special.digamma(sizes))).sum()
    ratio = _ratio(counts)
    if not once or not ratio:
        return float(seen)
    # t = exp(-u / n), u = width * (exp(y) - 1): smooth in y.
    width = -n * np.log(ratio)

    def integrand(y: float) -> float:
        u = width * np.expm1(y)
        return np.exp(-u) * width * np.exp(y) / -np.expm1(-(u + width) / n)

    total, _ = integrate.quad(integrand, 0, np.log1p(60 / width), epsabs=0, epsrel=1e-10, limit=200)
    return float(seen + once / n * ratio * total / n)
