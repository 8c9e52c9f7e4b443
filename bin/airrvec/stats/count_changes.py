"""
Changes of counts between two samples, beyond what two samples of the same blood differ by.

If the share of a clone stays, its count ``after`` given both counts together, K, has the mean m K, where m is
the second sample's part of all counts. Its variance is that of the binomial distribution and more: molecules
are read several times, and cells of a clone do not come one by one. For counts with the variance
``copies`` μ + ``dispersion`` μ², that of replicates (Robinson and Smyth 2007, Bioinformatics 23, 2881; Puelma
Touzel et al. 2020, PLoS Computational Biology 16, e1007873), the variance of ``after`` given K is
m (1 − m) K (copies + K s / (1 + s)), with s = 2 m (1 − m) dispersion; exactly so for gamma-distributed shares
and equal totals. A beta-binomial distribution with it gives the likelihood of both numbers, the exact p, and
the least p that K allows: of K counts that may be copies of one molecule nothing follows.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from airrvec.stats.designs import SIGNIFICANT

import numpy as np

LEAST_CORRELATION, MOST_CORRELATION = 1e-7, 0.999
LISTED = 10_000  # counts together up to which every outcome is summed; above, the distribution is a beta's
LEAST_INFORMATIVE = 30  # features with two counts or more that noise is estimated from
# Of the search for copies − 1 and dispersion: less is none.
_LEAST = (1e-4, 1e-6)
_STARTS = ((0.01, 0.01), (3, 0.1))


@dataclass(frozen=True)
class Counts:
    """
    Counts of features in two samples.

    Attributes
    ----------
    before, after : ndarray of int, shape (n,)
    totals : tuple of int
        All counts of each sample.
    replicates : tuple of int
        Samples that were added up on each side, whose dispersion is that much smaller.
    """

    before: np.ndarray
    after: np.ndarray
    totals: tuple[int, int]
    replicates: tuple[int, int] = (1, 1)

    @property
    def together(self) -> np.ndarray:
        return self.before + self.after

    @property
    def part(self) -> float:
        """The second sample's part of all counts, m."""
        return self.totals[1] / sum(self.totals)

    def select(self, rows: np.ndarray) -> "Counts":
        """Return the counts of some features."""
        return Counts(self.before[rows], self.after[rows], self.totals, self.replicates)


@dataclass(frozen=True)
class Noise:
    """
    How much replicates differ.

    Attributes
    ----------
    copies : float
        Counts that come together, at least 1: reads of a molecule.
    dispersion : float
        Squared coefficient of variation of a count that is large.
    """

    copies: float
    dispersion: float

    def inflation(self, together: np.ndarray, part: float, replicates=(1, 1)) -> np.ndarray:
        """Return variances of ``after`` given both counts, divided by the binomial ones; at least 1."""
        dispersion = self.dispersion * (1 / replicates[0] + 1 / replicates[1])
        together = np.asarray(together, float)
        spread = dispersion * part * (1 - part)
        wanted = self.copies + spread / (1 + spread) * together
        return np.minimum(wanted, 1 + np.maximum(together - 1, 0) * MOST_CORRELATION)

    def shapes(self, together: np.ndarray, part: float, replicates=(1, 1)) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β of the beta-binomial distribution of ``after``."""
        excess = self.inflation(together, part, replicates) - 1
        correlation = excess / np.maximum(np.asarray(together, float) - 1, 1)
        size = 1 / np.clip(correlation, LEAST_CORRELATION, MOST_CORRELATION) - 1
        return part * size, (1 - part) * size


MOST = Noise(copies=1e4, dispersion=20)


def estimate(pairs: Iterable[Counts], most: Noise = MOST) -> Noise | None:
    """
    Return the noise under which pairs of samples, that differ by nothing else, are likeliest.

    Parameters
    ----------
    pairs : iterable of Counts
    most : Noise
        Upper limits.

    Returns
    -------
    Noise or None
        None if fewer than `LEAST_INFORMATIVE` features have two counts or more.
    """
    from scipy import optimize

    outcomes = [_outcomes(pair) for pair in pairs]
    if sum(weights.sum() for _, _, weights, _ in outcomes) < LEAST_INFORMATIVE:
        return None

    def unlikeliness(noise: Noise) -> float:
        total = 0.0
        for after, together, weights, pair in outcomes:
            shapes = noise.shapes(together, pair.part, pair.replicates)
            total -= float((weights * _log_likelihood(after, together, *shapes)).sum())
        return total

    def noise_of(logs: np.ndarray) -> Noise:
        more_copies, dispersion = np.exp(logs).tolist()
        return Noise(1 + more_copies, dispersion)

    limits = zip(_LEAST, (most.copies - 1, most.dispersion), strict=True)
    bounds = [(np.log(least), np.log(max(least, limit))) for least, limit in limits]
    estimates = [
        optimize.minimize(
            lambda logs: unlikeliness(noise_of(logs)), np.log(start), bounds=bounds, method="L-BFGS-B"
        )
        for start in _STARTS
    ]
    return noise_of(min(estimates, key=lambda one: one.fun).x)


@dataclass(frozen=True)
class Changes:
    """
    Test and size of the change of each feature, each of shape (n,).

    Attributes
    ----------
    p : ndarray of float
        Two-sided; NaN where not even the most extreme counts would be significant.
    low, high : ndarray of float
        95 % interval of the fold change of the share.
    """

    p: np.ndarray
    low: np.ndarray
    high: np.ndarray


def changes(counts: Counts, noise: Noise) -> Changes:
    """Return p and interval of the change of each feature, exact but for more than `LISTED` counts."""
    from scipy import stats

    p = np.ones(len(counts.before))
    together = counts.together
    rows_by_sum = np.argsort(together, kind="stable")
    sums, starts = np.unique(together[rows_by_sum], return_index=True)
    for total, rows in zip(sums.tolist(), np.split(rows_by_sum, starts[1:]), strict=True):
        shapes = noise.shapes(np.array(total), counts.part, counts.replicates)
        p[rows] = _two_sided(counts.after[rows], total, *map(float, shapes))
    inflation = noise.inflation(together, counts.part, counts.replicates)
    after, before = (side / inflation + 0.5 for side in (counts.after, counts.before))  # Jeffreys' prior
    odds = counts.totals[0] / counts.totals[1]
    low, high = (
        odds * part / (1 - part) for part in (stats.beta.ppf(q, after, before) for q in (0.025, 0.975))
    )
    return Changes(p, low, high)


def _outcomes(pair: Counts) -> tuple[np.ndarray, np.ndarray, np.ndarray, Counts]:
    """Return the different outcomes with two counts or more: ``after``, both together, how often."""
    known = pair.together > 1
    values = np.stack([pair.after[known], pair.together[known]])
    different, times = np.unique(values, axis=1, return_counts=True)
    return different[0], different[1], times, pair


def _log_likelihood(after, together, alpha, beta) -> np.ndarray:
    """Return logarithms of beta-binomial probabilities."""
    from scipy import special

    choices = -np.log(together + 1) - special.betaln(after + 1, together - after + 1)
    return choices + special.betaln(after + alpha, together - after + beta) - special.betaln(alpha, beta)


def _two_sided(after: np.ndarray, total: int, alpha: float, beta: float) -> np.ndarray:
    """Return twice the smaller tail, the outcome included; NaN if no outcome of the sum is significant."""
    if total < 2:
        return np.full(len(after), np.nan)
    if total > LISTED:
        from scipy import stats

        mean = alpha / (alpha + beta)
        spread = (alpha + beta + total) / (alpha + beta + 1) / total  # variance of a share / (m (1 − m))
        size = 1 / spread - 1
        share = stats.beta(mean * size, (1 - mean) * size)
        below, above = share.cdf((after + 0.5) / total), share.sf((after - 0.5) / total)
        return np.minimum(1, 2 * np.minimum(below, above))
    outcomes = np.arange(total + 1)
    probabilities = np.exp(_log_likelihood(outcomes, total, alpha, beta))
    below, above = np.cumsum(probabilities), np.cumsum(probabilities[::-1])[::-1]
    p = np.minimum(1, 2 * np.minimum(below, above))
    return p[after] if p.min() <= SIGNIFICANT else np.full(len(after), np.nan)
