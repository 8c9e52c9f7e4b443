"""
Paired comparisons of encoders on the same splits (paper, Methods, "Benchmarking", and the binomial test in
its Results).
"""

from collections.abc import Hashable, Iterator
from itertools import combinations

from airrvec.core import schema
from airrvec.evaluation.fewshot import complete_epitopes

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy  # whose parts are imported on use


def compact(aurocs: pa.Table) -> pa.Table:
    """Return the columns that `compare` needs, text as numbers of words: 40 bytes a row."""
    columns = [*schema.SETTING, "epitope", "k", "split", "auroc"]
    table = aurocs.select(columns)
    for place, column in enumerate(table.columns):
        if pa.types.is_string(column.type):
            table = table.set_column(place, columns[place], column.dictionary_encode())
    return table


def compare(aurocs: pa.Table) -> pa.Table:
    """
    Return differences of AUROC between each pair of encoders, and between each encoder and their mean.

    For one epitope and k, the differences in its splits are tested. For the mean over epitopes, the mean
    differences of the epitopes are tested; its variance is the mean of the epitopes' variances, as in the
    paper.

    Parameters
    ----------
    aurocs : pyarrow.Table
        `airrvec.core.schema.AUROC`, or `compact` tables of it; the same splits for every encoder.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.COMPARISONS`; no rows for a single encoder.
    """
    frame = aurocs.unify_dictionaries().to_pandas()
    parts = [schema.COMPARISONS.empty_table().to_pandas()]
    for setting, group in frame.groupby([*schema.RULE_SETTING], sort=False, observed=True):
        group = group.astype({"encoder": object, "epitope": object})
        encoders = list(dict.fromkeys(group["encoder"]))
        if len(encoders) > 1:
            index = ["k", "epitope", "split"]
            wide = group.pivot_table(index=index, columns="encoder", values="auroc")[encoders]
            complete = complete_epitopes(group["epitope"], group["k"])
            constant = dict(zip(schema.RULE_SETTING, setting, strict=True))
            parts += [part.assign(**constant) for part in _compare_setting(wide, complete)]
    joined = pd.concat(parts) if len(parts) > 1 else parts[0]
    table = pa.Table.from_pandas(joined[schema.COMPARISONS.names], schema.COMPARISONS, preserve_index=False)
    return table.replace_schema_metadata()


def holm(p_values: np.ndarray) -> np.ndarray:
    """
    Return the p-values of one family, adjusted by Holm's step-down procedure (Holm 1979).

    Parameters
    ----------
    p_values : ndarray, shape (m,)
        NaN for no test; NaN does not count in the family.

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


def _compare_setting(wide: pd.DataFrame, complete: list[str]) -> Iterator[pd.DataFrame]:
    """Yield the comparisons of one setting; ``wide``: (k, epitope, split) × encoders."""
    encoders = list(wide.columns)
    first, second = np.array(list(combinations(range(len(encoders)), 2))).T
    names = {
        "encoder": [encoders[index] for index in (*first, *range(len(encoders)))],
        "other": [*(encoders[index] for index in second), *[None] * len(encoders)],
    }
    is_pair = np.arange(len(names["encoder"])) < len(first)
    for k, group in wide.groupby(level="k"):
        per_epitope: dict[Hashable, dict] = {}
        for epitope, splits in group.groupby(level="epitope"):
            values = splits.to_numpy()
            difference = np.hstack(
                [values[:, first] - values[:, second], values - values.mean(axis=1, keepdims=True)]
            )
            n = len(difference)
            variance = difference.var(axis=0, ddof=1) if n > 1 else np.full(difference.shape[1], np.nan)
            row = _row(difference.mean(axis=0), variance, np.sqrt(variance / n), n)
            per_epitope[epitope] = row
            yield pd.DataFrame({**names, "epitope": epitope, "k": k, **row, **_wilcoxon(difference, is_pair)})
        rows = [per_epitope[epitope] for epitope in complete if epitope in per_epitope]
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
    """Return the number of epitopes with a positive difference; one-sided binomial test of the majority."""
    better, worse = (means > 0).sum(axis=0), (means < 0).sum(axis=0)
    p_values = scipy.stats.binom.sf(np.maximum(better, worse) - 1, better + worse, 0.5)
    return {
        "n_epitopes": len(means),
        "n_better": better,
        "sign_p": np.where(is_pair & (better + worse > 0), p_values, np.nan),
    }


def _wilcoxon(differences: np.ndarray, is_pair: np.ndarray) -> dict:
    """Return the two-sided signed-rank test of each pair, and its Holm correction over the pairs."""
    p_values = np.full(len(is_pair), np.nan)
    tested = is_pair & (differences != 0).any(axis=0)
    if tested.any():
        p_values[tested] = scipy.stats.wilcoxon(differences[:, tested], axis=0).pvalue
    return {"wilcoxon_p": p_values, "wilcoxon_p_holm": holm(p_values)}
