"""Paired statistics, against scipy, hand values, and the paper's own p-values."""

from airrvec.core import schema
from airrvec.evaluation.comparisons import compare, holm

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

SETTING = {"rule": "r", "chains": "paired", "test_set": "all", "excluded": "none"}


def aurocs(values: dict[str, np.ndarray], k=5) -> pa.Table:
    """Encoder → AUROC, shape (n_epitopes, n_splits)."""
    rows = [
        {**SETTING, "encoder": encoder, "epitope": f"E{epitope}", "k": k, "split": split, "auroc": value}
        for encoder, matrix in values.items()
        for (epitope, split), value in np.ndenumerate(matrix)
    ]
    return pa.Table.from_pylist(rows, schema.AUROC)


def compared(values: dict[str, np.ndarray]) -> pd.DataFrame:
    table = compare(aurocs(values))
    assert table.schema.names == schema.COMPARISONS.names
    return table.to_pandas().set_index(["encoder", "other", "epitope"])


@pytest.fixture
def values() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.normal(mean, 0.1, (6, 20)) for name, mean in (("a", 0.8), ("b", 0.78), ("c", 0.6))}


def test_differences_are_paired(values):
    found = compared(values)
    assert len(found) == (3 + 3) * (6 + 1)
    difference = values["a"] - values["b"]
    for number in range(6):
        row = found.loc[("a", "b", f"E{number}")]
        assert row["difference_mean"] == pytest.approx(difference[number].mean())
        assert row["difference_std"] == pytest.approx(difference[number].std(ddof=1))
        assert row["difference_se"] == pytest.approx(stats.sem(difference[number]))
        assert row["wilcoxon_p"] == pytest.approx(stats.wilcoxon(difference[number]).pvalue)
        assert row["n_splits"] == 20
    row = found.loc[("a", "b", "mean")]
    assert row["difference_mean"] == pytest.approx(difference.mean())
    # The paper's: variance within each epitope, then the mean of the variances.
    assert row["difference_std"] ** 2 == pytest.approx(difference.var(axis=1, ddof=1).mean())
    assert row["difference_se"] == pytest.approx((stats.sem(difference, axis=1) ** 2).sum() ** 0.5 / 6)
    assert row["wilcoxon_p"] == pytest.approx(stats.wilcoxon(difference.mean(axis=1)).pvalue)


def test_each_encoder_is_compared_with_the_mean_of_all(values):
    found = compared(values).reset_index()
    row = found[found["other"].isna() & (found["encoder"] == "c") & (found["epitope"] == "E2")].iloc[0]
    difference = values["c"][2] - np.mean([matrix[2] for matrix in values.values()], axis=0)
    assert row["difference_mean"] == pytest.approx(difference.mean())
    assert row["difference_std"] == pytest.approx(difference.std(ddof=1))
    assert np.isnan(row["wilcoxon_p"])


@pytest.mark.parametrize(("ahead", "p_value"), [(5, 0.109375), (6, 0.015625), (1, 0.109375)])
def test_the_sign_test_gives_the_papers_p_values(ahead, p_value):
    base = np.full((6, 4), 0.7)
    shift = np.where(np.arange(6) < ahead, 0.01, -0.01)[:, None]
    row = compared({"a": base + shift, "b": base}).loc[("a", "b", "mean")]
    assert (row["n_better"], row["n_epitopes"]) == (ahead, 6)
    assert row["sign_p"] == pytest.approx(p_value)
    expected = stats.binomtest(max(ahead, 6 - ahead), 6, alternative="greater").pvalue
    assert row["sign_p"] == pytest.approx(expected)


def test_holm_by_hand():
    # 3 · 0.01, then 2 · 0.02 = 0.04, then 0.03, which may not be below 0.04.
    np.testing.assert_allclose(holm(np.array([0.02, 0.01, np.nan, 0.03])), [0.04, 0.03, np.nan, 0.04])
    np.testing.assert_allclose(holm(np.array([0.5, 0.9])), [1, 1])
    assert len(holm(np.array([]))) == 0


def test_the_correction_is_over_the_pairs_of_one_epitope(values):
    found = compared(values).reset_index()
    pairs = found[found["other"].notna()]
    for _, group in pairs.groupby("epitope"):
        np.testing.assert_allclose(group["wilcoxon_p_holm"], holm(group["wilcoxon_p"].to_numpy()))


def test_equal_encoders_have_no_p_value(values):
    found = compared({"a": values["a"], "b": values["a"]})
    for epitope in ("E0", "mean"):
        row = found.loc[("a", "b", epitope)]
        assert row["difference_mean"] == 0
        assert np.isnan(row[["sign_p", "wilcoxon_p", "wilcoxon_p_holm"]].astype(float)).all()


def test_one_encoder_is_compared_with_nothing(values):
    assert len(compare(aurocs({"a": values["a"]}))) == 0
