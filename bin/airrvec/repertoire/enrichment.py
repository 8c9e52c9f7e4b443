"""Tests for clusters that are enriched in the samples of one condition."""

from itertools import combinations

from airrvec.stats.significance import benjamini_hochberg, mann_whitney

import numpy as np
import pandas as pd
import scipy  # whose parts are imported on use

MIN_SAMPLES = 2  # per value of a condition; values with fewer samples are not compared
MIN_CARRYING = 2  # samples that carry a tested cluster; a single one is no evidence

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
    """Return the pairs of values that at least `MIN_SAMPLES` samples have, in sorted order."""
    counts = conditions.dropna().value_counts()
    return list(combinations(sorted(counts.index[counts >= MIN_SAMPLES]), 2))


def compare_conditions(shares: np.ndarray, conditions: pd.Series) -> pd.DataFrame:
    """
    Compare each cluster between each pair of values of a condition; the units are samples.

    Parameters
    ----------
    shares : ndarray of float, shape (n_samples, n_clusters)
        Share of each sample's cells in each cluster. NaN for a sample without cells of this class of chains,
        which is no unit: nobody has measured whether it has the cluster.
    conditions : Series
        Value of each sample, null if it has none.

    Returns
    -------
    DataFrame
        `COLUMNS`, one row per pair of values and cluster that at least `MIN_CARRYING` of their samples carry.
        ``fisher_p``: two-sided Fisher's exact test of the numbers of samples that carry the cluster;
        ``rank_p``: two-sided Mann-Whitney test of the shares, as in `airrvec.stats.significance`.
        ``fisher_fdr`` and ``rank_fdr``: false discovery rates by Benjamini and Hochberg, over all rows.
    """
    parts = [pd.DataFrame(columns=list(COLUMNS))]
    measured = ~np.isnan(shares).any(axis=1)
    shares, conditions = shares[measured], conditions[measured]
    for value_1, value_2 in pairs_of_values(conditions):
        first, second = (shares[(conditions == value).to_numpy()] for value in (value_1, value_2))
        carrying = [(group > 0).sum(axis=0) for group in (first, second)]
        tested = np.flatnonzero(sum(carrying) >= MIN_CARRYING)
        if not len(tested):
            continue
        # Many clusters have the same numbers of carrying samples: test each pair of numbers once.
        numbers, number_of_cluster = np.unique(
            np.stack([counts[tested] for counts in carrying]), axis=1, return_inverse=True
        )
        fisher = np.array([_fisher(a, len(first), b, len(second)) for a, b in numbers.T])[number_of_cluster]
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
        table[f"{test}_fdr"] = benjamini_hochberg(table[f"{test}_p"].to_numpy(float))
    return table[list(COLUMNS)]


def _fisher(carrying_1: int, n_1: int, carrying_2: int, n_2: int) -> tuple[float, float]:
    """
    Return the odds ratio and p of carrying a cluster.

    The odds ratio is infinite if all samples of group 1 or none of group 2 carry it, NaN if all samples do.
    """
    result = scipy.stats.fisher_exact([[carrying_1, n_1 - carrying_1], [carrying_2, n_2 - carrying_2]])
    return float(result.statistic), float(result.pvalue)
