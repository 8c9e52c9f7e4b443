"""
Tests and effects of numbers that samples have, in any design: by ranks, and by a linear model.

The mean of a block (`airrvec.stats.designs`) is subtracted before values are ranked: aligned ranks (Hodges
and Lehmann 1962, Annals of Mathematical Statistics 33, 482). Without blocks the test of two values is that of
Mann and Whitney, of several that of Kruskal and Wallis; of pairs it is a signed-rank test.
"""

from airrvec.stats.designs import TREND, TWO_GROUPS, Design
from airrvec.stats.significance import permutation_p

import numpy as np
import scipy  # whose parts are imported on use

MOST_STEPS = 5_000_000  # to count the exact distribution for one pattern of ties; about 10 ms
_DIGITS = 12  # of the values that are ranked: differences below are errors of rounding


def aligned_ranks(values: np.ndarray, design: Design) -> np.ndarray:
    """
    Return the midranks of values without the means of their blocks, doubled, which makes them integers.

    Parameters
    ----------
    values : ndarray of float, shape (n_units, n_variables)
    design : Design

    Returns
    -------
    ndarray of int64, shape (n_units, n_variables)
    """
    aligned = values
    if design.within:
        scale = np.abs(values).max(axis=0, initial=0)
        aligned = np.round(design.centred(values) / np.where(scale > 0, scale, 1), _DIGITS)
    return np.rint(2 * scipy.stats.rankdata(aligned, axis=0)).astype(np.int64)


def rank_test(
    values: np.ndarray, design: Design, n_permutations: int, rng: np.random.Generator
) -> np.ndarray:
    """
    Return the two-sided p-value of each variable.

    Two values: the sum of the first value's aligned ranks, compared with the sums of all exchanges; p is
    twice the share of exchanges whose sum is at least as small, or at least as large, whichever is less. The
    distribution depends only on the pattern of ties, which many variables share; it is counted without
    listing exchanges. If counting would take more than `MOST_STEPS`, p comes from the normal approximation,
    corrected for ties and continuity: only above 60 units, if both groups are large and many values are not
    tied. Several values: the variance between their mean ranks; a trend: the covariance of ranks and numbers
    within blocks; both by ``n_permutations`` exchanges at most.

    Parameters
    ----------
    values : ndarray of float, shape (n_units, n_variables)
    design : Design
    n_permutations : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float, shape (n_variables,)
    """
    ranks = aligned_ranks(values, design)
    if design.kind == TWO_GROUPS:
        return _exact(ranks, design)
    arrangements = design.arrangements(n_permutations, rng)
    if design.kind == TREND:
        statistics = np.abs(ranks.T @ design.centred(arrangements))
    else:
        statistics = np.zeros((ranks.shape[1], arrangements.shape[1]))
        for place in range(len(design.groups)):
            chosen = (arrangements == place).astype(np.float64)
            statistics += (ranks.T @ chosen) ** 2 / chosen.sum(axis=0)
    return np.array([permutation_p(row) for row in statistics])


def _exact(ranks: np.ndarray, design: Design) -> np.ndarray:
    """Return the p-values of two values, by the number of exchanges with each sum of ranks."""
    blocks = [(rows, int((design.labels[rows] == 0).sum())) for rows in design.members()]
    sums = ranks[design.labels == 0].sum(axis=0)
    sorted_ranks = np.concatenate([np.sort(ranks[rows], axis=0) for rows, _ in blocks])
    patterns, pattern_number = np.unique(sorted_ranks, axis=1, return_inverse=True)
    p = np.empty(ranks.shape[1])
    order = np.argsort(pattern_number, kind="stable")
    bounds = np.searchsorted(pattern_number[order], np.arange(patterns.shape[1] + 1))
    ends = np.cumsum([len(rows) for rows, _ in blocks])[:-1]
    for number, pattern in enumerate(patterns.T):
        columns = order[bounds[number] : bounds[number + 1]]
        parts = [(part, n) for part, (_, n) in zip(np.split(pattern, ends), blocks, strict=True)]
        counted = _exchanges(parts)
        if counted is None:
            p[columns] = _normal(sums[columns], parts)
            continue
        first, ways = counted
        less, greater = np.cumsum(ways), np.cumsum(ways[::-1])[::-1]
        tail = np.minimum(less[sums[columns] - first], greater[sums[columns] - first])
        p[columns] = np.minimum(2 * tail / less[-1], 1)
    return p


def _exchanges(parts: list[tuple[np.ndarray, int]]) -> tuple[int, np.ndarray] | None:
    """Return the smallest sum of ranks and the exchanges with each sum from it on; None if too many steps."""
    first, ways = 0, np.ones(1)
    for pattern, n in parts:
        n_chosen = min(n, len(pattern) - n)  # the smaller group has fewer sums
        counts = _divisions(pattern, n_chosen)
        if counts is None:
            return None
        if n_chosen < n:
            counts = counts[: pattern.sum() + 1]
            counts = np.concatenate([counts, np.zeros(pattern.sum() + 1 - len(counts))])[::-1]
        low, high = np.flatnonzero(counts)[[0, -1]]
        if len(ways) * (high - low + 1) > MOST_STEPS:
            return None
        first += int(low)
        ways = np.convolve(ways, counts[low : high + 1])
    return first, ways


def _normal(sums: np.ndarray, parts: list[tuple[np.ndarray, int]]) -> np.ndarray:
    """Return p from the mean and variance of the sum over all exchanges, corrected for continuity."""
    mean = sum(n * pattern.mean() for pattern, n in parts)
    variance = sum(
        n * (len(pattern) - n) / len(pattern) * pattern.var(ddof=1)
        for pattern, n in parts
        if len(pattern) > 1
    )
    distance = np.maximum(np.abs(sums - mean) - 1, 0)  # half a rank, doubled
    return np.minimum(2 * scipy.stats.norm.sf(distance / np.sqrt(variance)), 1)


def _divisions(pattern: np.ndarray, n: int) -> np.ndarray | None:
    """
    Return the number of choices of ``n`` units with each sum of midranks.

    Parameters
    ----------
    pattern : ndarray of int, shape (n_units,)
        Midranks of all units of a block, ascending, doubled.
    n : int
        Size of the first group.

    Returns
    -------
    ndarray of float, or None
        Numbers by sum, from 0; None if counting would take more than `MOST_STEPS`.
    """
    values, counts = np.unique(pattern, return_counts=True)
    tied, n_tied = int(values[counts.argmax()]), int(counts.max())  # usually the units without the feature
    rest = pattern[pattern != tied]
    least = int(rest[0]) if len(rest) else tied
    above = rest - least
    most = min(n, len(rest))
    largest = int(above[len(above) - most :].sum())
    if len(rest) * most * (largest + 1) > MOST_STEPS:
        return None
    ways = np.zeros((most + 1, largest + 1))  # [j, s]: choices of j others with the sum j * least + s
    ways[0, 0] = 1
    for rank in above:
        ways[1:, rank:] += ways[:-1, : largest + 1 - rank]
    divisions = np.zeros(largest + n * max(tied, least) + 1)
    for j in range(max(0, n - n_tied), most + 1):
        start = j * least + (n - j) * tied
        divisions[start : start + largest + 1] += ways[j] * scipy.special.comb(n_tied, n - j)
    return divisions


CONFIDENCE = 0.95


def effects(values: np.ndarray, design: Design) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the effect of the values on each variable, and the ends of its `CONFIDENCE` interval.

    The coefficient of a linear model with the blocks as further terms, and Student's t interval: of two
    values the difference, first minus second (of pairs the mean difference within donors); of a trend the
    slope. NaN for several values, and an interval without a degree of freedom.

    Parameters
    ----------
    values : ndarray of float, shape (n_units, n_variables)
    design : Design

    Returns
    -------
    effect, low, high : ndarray of float, shape (n_variables,)
    """
    unknown = np.full(values.shape[1], np.nan)
    if design.kind not in (TWO_GROUPS, TREND):
        return unknown, unknown, unknown
    x = design.centred(design.labels == 0 if design.kind == TWO_GROUPS else design.labels)
    y = design.centred(values)
    effect = x @ y / (x @ x)
    freedom = len(x) - len(design.members()) - 1
    if freedom < 1:
        return effect, unknown, unknown
    error = np.sqrt(((y - np.outer(x, effect)) ** 2).sum(axis=0) / freedom / (x @ x))
    half = scipy.stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * error
    return effect, effect - half, effect + half
