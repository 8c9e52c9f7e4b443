"""
Paired comparisons of encoders on the same splits (paper, Methods, "Benchmarking", and the binomial test
of its Results).
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import stats

from airrvec.benchmark.fewshot import complete_epitopes
from airrvec.core import schema

SETTING = list(schema.SETTING[1:])


def compare(aurocs: pa.Table) -> pa.Table:
    """
    Differences of AUROC between each two encoders, and between each encoder and the mean of all.

    Of an epitope and k the differences of the splits, of their mean over epitopes the epitopes' mean
    differences are tested. The variance over epitopes is the mean of the epitopes' variances, as the
    paper's.

    Parameters
    ----------
    aurocs : pyarrow.Table
        `airrvec.core.schema.AUROC`, the same splits for every encoder.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.COMPARISONS`; no rows for one encoder.
    """
    frame = aurocs.to_pandas()
    parts = [schema.COMPARISONS.empty_table().to_pandas()]
    for setting, group in frame.groupby(SETTING, sort=False):
        encoders = list(dict.fromkeys(group["encoder"]))
        if len(encoders) > 1:
            index = ["k", "epitope", "split"]
            wide = group.pivot_table(index=index, columns="encoder", values="auroc")[encoders]
            complete = complete_epitopes(group["epitope"], group["k"])
            constant = dict(zip(SETTING, setting, strict=True))
            parts += [part.assign(**constant) for part in _of_setting(wide, complete)]
    joined = pd.concat(parts) if len(parts) > 1 else parts[0]
    table = pa.Table.from_pandas(joined[schema.COMPARISONS.names], schema.COMPARISONS, preserve_index=False)
    return table.replace_schema_metadata()


def holm(p_values: np.ndarray) -> np.ndarray:
    """
    p-values of one family, adjusted by Holm's step-down procedure (Holm 1979).

    Parameters
    ----------
    p_values : ndarray, shape (m,)
        NaN where nothing was tested, which does not count.

    Returns
    -------
    ndarray, shape (m,)
    """
    adjusted = np.full(len(p_values), np.nan)
    tested = np.flatnonzero(~np.isnan(p_values))
    order = tested[np.argsort(p_values[tested], kind="stable")]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def _of_setting(wide: pd.DataFrame, complete: list[str]) -> Iterator[pd.DataFrame]:
    """Rows of every k; ``wide``: (k, epitope, split) × encoders."""
    encoders = list(wide.columns)
    first, second = np.array(list(combinations(range(len(encoders)), 2))).T
    names = {
        "encoder": [encoders[index] for index in (*first, *range(len(encoders)))],
        "other": [*(encoders[index] for index in second), *[None] * len(encoders)],
    }
    is_pair = np.arange(len(names["encoder"])) < len(first)
    for k, of_k in wide.groupby(level="k"):
        of_epitopes = {}
        for epitope, splits in of_k.groupby(level="epitope"):
            values = splits.to_numpy()
            difference = np.hstack(
                [values[:, first] - values[:, second], values - values.mean(axis=1, keepdims=True)]
            )
            n = len(difference)
            variance = difference.var(axis=0, ddof=1) if n > 1 else np.full(difference.shape[1], np.nan)
            row = _row(difference.mean(axis=0), variance, np.sqrt(variance / n), n)
            of_epitopes[epitope] = row
            yield pd.DataFrame({**names, "epitope": epitope, "k": k, **row, **_wilcoxon(difference, is_pair)})
        rows = [of_epitopes[epitope] for epitope in complete if epitope in of_epitopes]
        if rows:
            means = np.stack([row["difference_mean"] for row in rows])
            variance = np.mean([row["difference_std"] ** 2 for row in rows], axis=0)
            error = np.sqrt(np.sum([row["difference_se"] ** 2 for row in rows], axis=0)) / len(rows)
            row = _row(means.mean(axis=0), variance, error, min(row["n_splits"] for row in rows))
            tests = {**_sign_test(means, is_pair), **_wilcoxon(means, is_pair)}
            yield pd.DataFrame({**names, "epitope": schema.MEAN, "k": k, **row, **tests})


def _row(mean: np.ndarray, variance: np.ndarray, error: np.ndarray, n_splits: int) -> dict:
    return {
        "difference_mean": mean,
        "difference_std": np.sqrt(variance),
        "difference_se": error,
        "n_splits": n_splits,
        "n_epitopes": pd.NA,
        "n_better": pd.NA,
        "sign_p": np.nan,
    }


def _sign_test(means: np.ndarray, is_pair: np.ndarray) -> dict:
    """In how many epitopes the first encoder is ahead; one-sided binomial test of the one ahead in more."""
    better, worse = (means > 0).sum(axis=0), (means < 0).sum(axis=0)
    p_values = stats.binom.sf(np.maximum(better, worse) - 1, better + worse, 0.5)
    return {
        "n_epitopes": len(means),
        "n_better": better,
        "sign_p": np.where(is_pair & (better + worse > 0), p_values, np.nan),
    }


def _wilcoxon(differences: np.ndarray, is_pair: np.ndarray) -> dict:
    """Two-sided signed-rank test of each pair's differences, and Holm's correction over the pairs."""
    p_values = np.full(len(is_pair), np.nan)
    tested = is_pair & (differences != 0).any(axis=0)
    if tested.any():
        p_values[tested] = stats.wilcoxon(differences[:, tested], axis=0).pvalue
    return {"wilcoxon_p": p_values, "wilcoxon_p_holm": holm(p_values)}
