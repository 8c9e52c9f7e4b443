"""Whether clusters are carried by the samples of one condition rather than another."""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from airrvec.stats.rank_tests import mann_whitney

MIN_SAMPLES = 2  # of a condition that is compared
MIN_CARRYING = 2  # samples that carry a cluster that is tested: a single one shows nothing

COLUMNS = (
    "cluster",
    "value_1",
    "value_2",
    "n_samples_1",
    "n_samples_2",
    "n_carrying_1",
    "n_carrying_2",
    "share_1",
    "share_2",
    "odds_ratio",
    "fisher_p",
    "fisher_fdr",
    "rank_p",
    "rank_fdr",
)


def pairs_of_values(conditions: pd.Series) -> list[tuple[str, str]]:
    """Pairs of the values that at least `MIN_SAMPLES` samples have, in their order."""
    counts = conditions.dropna().value_counts()
    return list(combinations(sorted(counts.index[counts >= MIN_SAMPLES]), 2))


def compare(shares: np.ndarray, conditions: pd.Series) -> pd.DataFrame:
    """
    Each cluster between each two values of a condition; the samples are the units.

    Parameters
    ----------
    shares : ndarray of float, shape (n_samples, n_clusters)
        Share of a sample's cells that are in the cluster.
    conditions : Series
        Of each sample, null where it has none.

    Returns
    -------
    DataFrame
        `COLUMNS`, a row a pair of values and a cluster that at least `MIN_CARRYING` of their samples carry.
        ``fisher_p``: Fisher's exact test, two-sided, of the samples that carry it; ``rank_p``: that of Mann
        and Whitney, two-sided, of the shares, as in `airrvec.stats.rank_tests`. The rates of false
        discoveries are those of Benjamini and Hochberg, over all rows of the table.
    """
    parts = [pd.DataFrame(columns=list(COLUMNS))]
    for value_1, value_2 in pairs_of_values(conditions):
        first, second = (shares[(conditions == value).to_numpy()] for value in (value_1, value_2))
        carrying = [(group > 0).sum(axis=0) for group in (first, second)]
        tested = np.flatnonzero(sum(carrying) >= MIN_CARRYING)
        if not len(tested):
            continue
        # Many clusters are carried by as many samples: each pair of numbers is tested once.
        numbers, of_cluster = np.unique(
            np.stack([of_value[tested] for of_value in carrying]), axis=1, return_inverse=True
        )
        fisher = np.array([_fisher(a, len(first), b, len(second)) for a, b in numbers.T])[of_cluster]
        parts.append(
            pd.DataFrame(
                {
                    "cluster": tested,
                    "value_1": value_1,
                    "value_2": value_2,
                    "n_samples_1": len(first),
                    "n_samples_2": len(second),
                    "n_carrying_1": carrying[0][tested],
                    "n_carrying_2": carrying[1][tested],
                    "share_1": first[:, tested].mean(axis=0),
                    "share_2": second[:, tested].mean(axis=0),
                    "odds_ratio": fisher[:, 0],
                    "fisher_p": fisher[:, 1],
                    "rank_p": mann_whitney(first[:, tested], second[:, tested]),
                }
            )
        )
    table = pd.concat([part for part in parts if len(part)] or parts, ignore_index=True)
    for test in ("fisher", "rank"):
        p = table[f"{test}_p"].to_numpy(float)
        table[f"{test}_fdr"] = stats.false_discovery_control(p) if len(p) else p
    return table[list(COLUMNS)]


def _fisher(carrying_1: int, n_1: int, carrying_2: int, n_2: int) -> tuple[float, float]:
    """Odds ratio of the samples, infinite where all of one group alone carry it, and p."""
    found = stats.fisher_exact([[carrying_1, n_1 - carrying_1], [carrying_2, n_2 - carrying_2]])
    return float(found.statistic), float(found.pvalue)
