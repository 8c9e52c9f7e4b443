"""Mann-Whitney test, exact with ties, by the permutation distribution of each variable."""

import numpy as np
import scipy  # whose parts are imported on use

MOST_STEPS = 5_000_000  # to count the exact distribution for one pattern of ties; about 10 ms


def mann_whitney(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """
    Return the two-sided p-value of the Mann-Whitney test for each variable.

    The statistic is the sum of the first group's midranks, compared with the sums of all divisions of the
    samples into groups of the same sizes. p is twice the share of divisions whose sum is at least as small,
    or at least as large, whichever is less. The distribution of the sum depends only on the pattern of ties,
    which many variables share; it is counted without listing divisions. If counting would take more than
    `MOST_STEPS`, p comes from the normal approximation, corrected for ties and continuity. This never happens
    with 60 samples or fewer, and above only if both groups are large and many samples are not tied.

    Parameters
    ----------
    first, second : ndarray of float, shape (n_1, n_variables) and (n_2, n_variables)
        Samples of the two groups.

    Returns
    -------
    ndarray of float, shape (n_variables,)
    """
    if len(first) > len(second):
        first, second = second, first  # the smaller group has fewer sums
    n = len(first)
    ranks = np.rint(2 * scipy.stats.rankdata(np.concatenate([first, second]), axis=0)).astype(np.int64)
    sums = ranks[:n].sum(axis=0)
    patterns, pattern_number = np.unique(np.sort(ranks, axis=0), axis=1, return_inverse=True)
    p = np.empty(len(sums))
    order = np.argsort(pattern_number, kind="stable")
    bounds = np.searchsorted(pattern_number[order], np.arange(patterns.shape[1] + 1))
    for number, pattern in enumerate(patterns.T):
        columns = order[bounds[number] : bounds[number + 1]]
        divisions = _divisions(pattern, n)
        if divisions is None:
            groups = first[:, columns], second[:, columns]
            p[columns] = scipy.stats.mannwhitneyu(*groups, method="asymptotic", axis=0).pvalue
            continue
        less, greater = np.cumsum(divisions), np.cumsum(divisions[::-1])[::-1]
        tail = np.minimum(less[sums[columns]], greater[sums[columns]])
        p[columns] = np.minimum(2 * tail / less[-1], 1)
    return p


def _divisions(pattern: np.ndarray, n: int) -> np.ndarray | None:
    """
    Return the number of choices of ``n`` samples with each sum of midranks.

    Parameters
    ----------
    pattern : ndarray of int, shape (n_samples,)
        Midranks of all samples, ascending, doubled to make them integers.
    n : int
        Size of the first group.

    Returns
    -------
    ndarray of float, or None
        Numbers by sum, from 0; None if counting would take more than `MOST_STEPS`.
    """
    values, counts = np.unique(pattern, return_counts=True)
    tied, n_tied = int(values[counts.argmax()]), int(counts.max())  # usually the samples without the cluster
    others = pattern[pattern != tied]
    least = int(others[0]) if len(others) else tied
    above = others - least
    most = min(n, len(others))
    largest = int(above[len(above) - most :].sum())
    if len(others) * most * (largest + 1) > MOST_STEPS:
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
