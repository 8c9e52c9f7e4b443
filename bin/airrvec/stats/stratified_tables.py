"""
Two features of units in strata: how many units have both, by chance, and the odds ratio.

Given how many units of each stratum have either feature, the number with both is hypergeometric in a stratum,
and the sum of independent numbers over the strata: the exact form of the test of Cochran, Mantel and Haenszel
(Mantel and Haenszel 1959, Journal of the National Cancer Institute 22, 719), which is Fisher's test in one
stratum. Units are exchanged within their stratum only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy  # whose parts are imported on use

MOST_EXACT = 2_000  # numbers of units that could have both; for more the law is the normal one
CONFIDENCE = 0.95
_LARGEST = 30.0  # logarithm of an odds ratio
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class Joint:
    """
    Law of the number of units with both features, for given margins.

    Attributes
    ----------
    first : int
        The least number that the margins allow.
    weights : ndarray of float, shape (n_values,)
        Probability of this number and each one above it.
    exact : bool
        Whether it is the exact law, or a normal one with its mean and variance.
    mean, variance : float
    """

    first: int
    weights: np.ndarray
    exact: bool
    mean: float
    variance: float

    @cached_property
    def p_greater(self) -> np.ndarray:
        """
        Probability of at least each number, shape (n_values,): the one-sided p.

        Of a normal law corrected for continuity, as the chi square of Cochran, Mantel and Haenszel is.
        """
        if self.exact:
            return np.minimum(np.cumsum(self.weights[::-1])[::-1], 1)
        numbers = self.first + np.arange(len(self.weights))
        return scipy.stats.norm.sf((numbers - 0.5 - self.mean) / np.sqrt(self.variance))

    @property
    def least_p(self) -> float:
        """The smallest p that the margins allow."""
        return float(self.p_greater[-1])

    def odds_ratios(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """
        Return the conditional maximum likelihood estimate of the common odds ratio, and its exact interval.

        Cornfield 1956 (Proceedings of the Third Berkeley Symposium 4, 135) and Gart 1970 (Biometrika 57,
        471): each end is the odds ratio at which a number at least, or at most, as large has a probability of
        2.5 %. At the least or the greatest number that the margins allow they are 0 or infinite.

        Parameters
        ----------
        numbers : ndarray of int, shape (n,)
            Units with both features.

        Returns
        -------
        estimate, low, high : ndarray of float, shape (n,)
        """
        places, values = np.asarray(numbers) - self.first, np.arange(len(self.weights))
        tail = np.full(len(places), (1 - CONFIDENCE) / 2)
        at_least, at_most = values >= places[:, None], values <= places[:, None]
        summed = np.concatenate([np.broadcast_to(values, at_least.shape), at_least, -1.0 * at_most])
        estimate, low, high = self._odds_ratios_of(summed, np.concatenate([places, tail, -tail]))
        least, greatest = places == 0, places == values[-1]
        estimate[least] = low[least] = 0
        estimate[greatest] = high[greatest] = np.inf
        return estimate, low, high

    def _odds_ratios_of(self, summed: np.ndarray, means: np.ndarray) -> list[np.ndarray]:
        """Return the odds ratios at which some increasing functions have these means, in three parts."""
        values, logs = np.arange(len(self.weights)), np.log(np.maximum(self.weights, 1e-300))
        low = np.full(len(means), -_LARGEST)
        high = -low
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tilted = logs + middle[:, None] * values
            law = np.exp(tilted - tilted.max(axis=1, keepdims=True))
            above = (law * summed).sum(axis=1) / law.sum(axis=1) > means
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.split(np.exp((low + high) / 2), 3)


def joint(strata: Iterable[tuple[int, int, int]], most_exact: int = MOST_EXACT) -> Joint:
    """
    Return the law of the number of units with both features.

    Parameters
    ----------
    strata : iterable of tuple of int
        Of each stratum: its units, those with the first feature, those with the second.
    most_exact : int

    Examples
    --------
    >>> joint([(8, 4, 4)]).p_greater.round(4)  # four of eight: as Fisher's test
    array([1.    , 0.9857, 0.7571, 0.2429, 0.0143])
    """
    return _joint(tuple(sorted((n, one, other) for n, one, other in strata if n)), most_exact)


@lru_cache(maxsize=20_000)  # many alleles and clusters have the same margins
def _joint(margins: tuple[tuple[int, int, int], ...], most_exact: int) -> Joint:
    ranges = [(max(0, one + other - n), min(one, other)) for n, one, other in margins]
    first = sum(least for least, _ in ranges)
    n_values = sum(greatest - least for least, greatest in ranges) + 1
    mean = float(sum(one * other / n for n, one, other in margins))
    variance = float(
        sum(one * other * (n - one) * (n - other) / (n**2 * (n - 1)) for n, one, other in margins if n > 1)
    )
    if n_values <= most_exact:
        weights = np.ones(1)
        for (n, one, other), (least, greatest) in zip(margins, ranges, strict=True):
            law = scipy.stats.hypergeom.pmf(np.arange(least, greatest + 1), n, one, other)
            weights = np.convolve(weights, law)
        return Joint(first, weights / weights.sum(), True, mean, variance)
    weights = scipy.stats.norm.pdf(first + np.arange(n_values), mean, np.sqrt(variance))
    return Joint(first, weights / weights.sum(), False, mean, variance)
