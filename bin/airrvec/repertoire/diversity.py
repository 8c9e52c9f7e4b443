"""
Diversity of repertoires and overlap between them.

A Hill number (Hill 1973, Ecology 54, 427) is the number of equally frequent receptors with the same
diversity. Order 0 is the number of receptors, order 1 is exp of Shannon's entropy, and order 2 is one over
the probability that two cells, drawn with replacement, carry the same receptor.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from airrvec.core.progress import step
from airrvec.core.schema import samples as schema

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy  # whose parts are imported on use: integrate alone takes .3 s

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

    Examples
    --------
    >>> hill_numbers(np.array([50, 30, 20])).round(2)
    array([3.  , 2.8 , 2.63])
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

    Examples
    --------
    >>> rarefied_hill_numbers(np.array([50, 30, 20]), 10).round(2)
    array([2.88, 2.53, 2.29])
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

    Examples
    --------
    >>> round(coincidence(np.array([50, 30, 20])), 3)
    0.374
    """
    n = counts.sum()
    return float((counts * (counts - 1)).sum() / (n * (n - 1))) if n > 1 else np.nan


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """
    Return receptors in both samples over receptors in either; counts have shape (n_receptors,).

    Examples
    --------
    >>> jaccard(pd.Series([1, 2], ["a", "b"]), pd.Series([1], ["b"]))
    0.5
    """
    return float(((first > 0) & (second > 0)).sum() / ((first > 0) | (second > 0)).sum())


def morisita_horn(first: np.ndarray, second: np.ndarray) -> float:
    """
    Return 2 Σ p q / (Σ p² + Σ q²), with p and q the share of each receptor in the two samples.

    See Horn 1966, American Naturalist 100, 419. Counts have shape (n_receptors,).

    Examples
    --------
    >>> round(morisita_horn(pd.Series([1, 2], ["a", "b"]), pd.Series([1], ["b"])), 3)
    0.857
    """
    p, q = first / first.sum(), second / second.sum()
    return float(2 * (p * q).sum() / ((p**2).sum() + (q**2).sum()))


# --- Sample coverage, and Hill numbers of samples at equal coverage
#
# The coverage of a sample is the share of the repertoire's cells whose receptor is in the sample. Samples
# of equal coverage are equally complete, whatever their numbers of cells; samples of equal numbers of cells
# are not (Chao and Jost 2012, Ecology 93, 2533). Fewer cells than a sample has are drawn without
# replacement (rarefaction), more are predicted, up to twice their number (extrapolation; Chao et al. 2014,
# Ecological Monographs 84, 45). All counts are positive and have shape (n_receptors,).

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

    Examples
    --------
    >>> round(coverage(np.array([5, 3, 1, 1]), 10), 3)
    0.836
    """
    n = int(counts.sum())
    n_drawn = n if n_drawn is None else n_drawn
    if n_drawn < n:
        sizes, numbers = np.unique(counts, return_counts=True)
        numbers, sizes = numbers[sizes <= n - n_drawn], sizes[sizes <= n - n_drawn]
        logs = scipy.special.gammaln(n - sizes + 1) - scipy.special.gammaln(n - sizes - n_drawn + 1)
        logs += scipy.special.gammaln(n - n_drawn) - scipy.special.gammaln(n)
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

    Examples
    --------
    >>> cells_at_coverage(np.array([5, 3, 1, 1]), 0.7)
    5
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
    needs at least `FEW_CELLS` cells for it. Samples of fewer than `FEW_CELLS` cells never decide, those of
    fewer than `SMALL` only if most samples are not larger. Thus one sample of few cells, or of few repeated
    receptors, flattens no other. None if no sample of `FEW_CELLS` has a receptor with two cells.

    Parameters
    ----------
    samples : iterable of ndarray of int, each of shape (n_receptors,)
        Number of cells of each receptor, of each sample.
    """
    deciding = [counts for counts in samples if counts.max() > 1 and counts.sum() >= FEW_CELLS]
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
    seen = (numbers * sizes / n * (scipy.special.digamma(n) - scipy.special.digamma(sizes))).sum()
    ratio = _ratio(counts)
    if not once or not ratio:
        return float(seen)
    # t = exp(-u / n), u = width * (exp(y) - 1): smooth in y.
    width = -n * np.log(ratio)

    def integrand(y: float) -> float:
        u = width * np.expm1(y)
        return np.exp(-u) * width * np.exp(y) / -np.expm1(-(u + width) / n)

    total, _ = scipy.integrate.quad(integrand, 0, np.log1p(60 / width), epsabs=0, epsrel=1e-10, limit=200)
    return float(seen + once / n * ratio * total / n)


# --- Diversity of samples at equal coverage, and their rarefaction curves: the only place that computes them

N_POINTS = 12  # of a curve up to the sample's cells, and again half as many beyond them


@step("diversity of samples")
def diversity_table(
    counts: dict[str, np.ndarray], units: Mapping[str, str], species: str, chains: str
) -> pa.Table:
    """
    Return `airrvec.core.schema.DIVERSITY`, one row per sample; those of one unit have one reference coverage.

    Parameters
    ----------
    counts : dict of ndarray of int, each of shape (n_receptors,)
        Cells per clonotype of each sample, all with the same chains of one species.
    units : dict
        What each sample counts.
    species : str
    chains : {"paired", "alpha", "beta"}
    """
    references = {
        unit: reference_coverage([n for sample, n in counts.items() if units[sample] == unit])
        for unit in {units[sample] for sample in counts}
    }
    rows = []
    for sample, cells in counts.items():
        reference = references[units[sample]]
        row = {
            **_about(sample, species, chains, units[sample]),
            "n_cells": int(cells.sum()),
            "n_clones": len(cells),
            "n_singletons": int((cells == 1).sum()),
            "coverage": coverage(cells),
            **_hill_columns(hill_numbers(cells)),
            "coincidence": coincidence(cells),
            "reference_coverage": reference,
        }
        rows.append(row | _at_coverage(cells, reference))
    return _table(rows, schema.DIVERSITY)


def _at_coverage(cells: np.ndarray, reference: float | None) -> dict:
    """Return the method, depth and Hill numbers of a sample at the reference coverage."""
    if cells.sum() < FEW_CELLS:
        return {"method": schema.TOO_FEW}
    reached = reach(cells)
    if not reached or reference is None:
        return {"method": schema.NO_REPEATS}
    if reached < reference:
        return {"method": schema.TOO_LOW}
    depth = cells_at_coverage(cells, reference)
    return {
        "method": _method(depth, int(cells.sum())),
        "depth": depth,
        **_hill_columns(hill_numbers_at(cells, depth), "_at_coverage"),
    }


@step("rarefaction curves")
def rarefaction_table(
    counts: dict[str, np.ndarray], units: Mapping[str, str], species: str, chains: str
) -> pa.Table:
    """
    Return `airrvec.core.schema.RAREFACTION`: points of each sample's curve, from one cell to twice its cells.

    Samples without a repeated receptor are not extrapolated. The parameters are those of `diversity_table`.
    """
    rows = []
    for sample, cells in counts.items():
        n = int(cells.sum())
        points = np.linspace(1, n, N_POINTS)
        if cells.max() > 1:
            points = np.append(points, np.linspace(n, FURTHEST * n, N_POINTS // 2 + 1))
        for n_drawn in np.unique(points.round().astype(np.int64)).tolist():
            rows.append(
                {
                    **_about(sample, species, chains, units[sample]),
                    "n_drawn": n_drawn,
                    "method": _method(n_drawn, n),
                    "coverage": coverage(cells, n_drawn),
                    **_hill_columns(hill_numbers_at(cells, n_drawn)),
                }
            )
    return _table(rows, schema.RAREFACTION)


def _about(sample: str, species: str, chains: str, unit: str) -> dict:
    return {"sample_id": sample, "species": species, "chains": chains, "count_unit": unit}


def _method(n_drawn: int, n: int) -> str:
    return schema.OBSERVED if n_drawn == n else schema.RAREFIED if n_drawn < n else schema.EXTRAPOLATED


def _hill_columns(numbers: np.ndarray, suffix: str = "") -> dict:
    return {f"hill_{order}{suffix}": value for order, value in zip(ORDERS, numbers, strict=True)}


def _table(rows: list[dict], columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pandas(pd.DataFrame(rows, columns=columns.names), columns, preserve_index=False)
