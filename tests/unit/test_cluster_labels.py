"""Enrichment of epitopes in clusters, beside all draws of receptors enumerated here."""

from itertools import combinations

from airrvec.repertoire.cluster_tables import label_clusters

import numpy as np
import pandas as pd
import pytest

CLUSTER = np.array([0, 0, 0, 0, 1, 1, 1, -1, -1, -1, 2, 2])
LABELS = pd.DataFrame(
    [(0, "A"), (1, "A"), (2, "B"), (4, "B"), (5, "C"), (7, "A"), (8, "C"), (9, "C"), (9, "A")],
    columns=["receptor", "epitope"],
)


def p_by_enumeration(n_drawn: int, epitope: str, at_least: int) -> float:
    """Share of all draws of labelled receptors that hold as many with the epitope."""
    receptors = LABELS["receptor"].unique()
    carrying = set(LABELS.loc[LABELS["epitope"] == epitope, "receptor"])
    draws = [len(carrying & set(draw)) for draw in combinations(receptors, n_drawn)]
    return np.mean([n >= at_least for n in draws])


def test_p_is_the_share_of_all_draws():
    table = label_clusters(CLUSTER, LABELS)
    assert table["n_labelled"].tolist() == [3, 2, 0]
    assert table["n_epitopes"].tolist() == [2, 2, 0]
    assert table["epitope"].tolist() == ["A", "B", None]
    assert table["n_with_epitope"].tolist() == [2, 1, 0]
    expected = [p_by_enumeration(3, "A", 2), p_by_enumeration(2, "B", 1)]
    np.testing.assert_allclose(table["epitope_p"][:2], expected)
    assert table["epitope_expected"][:2].tolist() == pytest.approx([3 * 4 / 8, 2 * 2 / 8])
    # Four pairs of cluster and epitope are tested; Benjamini and Hochberg by hand.
    p = np.sort([*expected, p_by_enumeration(3, "B", 1), p_by_enumeration(2, "C", 1)])
    rates = np.minimum.accumulate((p * 4 / np.arange(1, 5))[::-1])[::-1]
    for value, rate in zip(table["epitope_p"][:2], table["epitope_fdr"][:2], strict=True):
        assert rate == pytest.approx(rates[np.flatnonzero(np.isclose(p, value))[-1]])
    assert table.loc[2, ["epitope_p", "epitope_fdr", "epitope_expected"]].isna().all()


def test_two_labelled_members_of_fifty_are_no_enrichment_where_all_labels_are_the_same():
    labels = pd.DataFrame({"receptor": [0, 1, 60, 61], "epitope": ["A"] * 4})
    table = label_clusters(np.array([0] * 50 + [-1] * 20), labels)
    assert table["epitope_p"].tolist() == [1]


def test_without_labels_nothing_is_enriched():
    empty = pd.DataFrame({"receptor": pd.Series(dtype=int), "epitope": pd.Series(dtype=object)})
    table = label_clusters(CLUSTER, empty)
    assert table["n_labelled"].tolist() == [0, 0, 0]
    assert table["epitope"].isna().all()
    assert label_clusters(np.array([-1, -1]), empty).empty
