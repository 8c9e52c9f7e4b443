"""The benchmark: its receptors, splits, AUROC and ROC, against plain loops and scikit-learn."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from airrvec import fewshot, schema

distances = st.lists(st.integers(0, 12), min_size=1, max_size=40).map(lambda values: np.array(values, float))


def truth_and_scores(positives, negatives):
    return np.repeat([1, 0], [len(positives), len(negatives)]), -np.concatenate([positives, negatives])


@given(positives=distances, negatives=distances)
def test_auroc_is_scikit_learns_also_with_ties(positives, negatives):
    expected = roc_auc_score(*truth_and_scores(positives, negatives))
    assert fewshot.auroc(positives, negatives) == pytest.approx(expected, abs=1e-12)


def test_auroc_of_many_is_scikit_learns():
    rng = np.random.default_rng(0)
    positives, negatives = rng.random(500), rng.random(7000) + 0.1
    expected = roc_auc_score(*truth_and_scores(positives, negatives))
    assert fewshot.auroc(positives, negatives) == pytest.approx(expected, abs=1e-12)


@given(positives=distances, negatives=distances)
def test_roc_is_scikit_learns(positives, negatives):
    fpr, tpr, _ = roc_curve(*truth_and_scores(positives, negatives), drop_intermediate=False)
    curve = fewshot.roc(positives, negatives)
    # Where the curve rises any height is right at that false-positive rate; elsewhere there is one.
    single = ~np.isclose(fewshot.FPR_GRID[:, None], fpr).any(axis=1)
    np.testing.assert_allclose(curve[single], np.interp(fewshot.FPR_GRID, fpr, tpr)[single], atol=1e-12)
    assert curve[-1] == 1


class Line:
    """An encoder that puts receptors on a line, at the number that stands for their V call."""

    def distances(self, queries, references):
        x, y = (np.array(table["tra_v_call"].to_pylist(), float) for table in (queries, references))
        return np.abs(x[:, None] - y[None])


def labelled(n=60) -> fewshot.LabelledReceptors:
    rng = np.random.default_rng(0)
    positions = np.where(np.arange(n) < n // 2, rng.normal(0, 1, n), rng.normal(1, 2, n))
    positions = (10 * positions).round()  # whole, so that ties are exact
    rows = [
        {"receptor_id": f"{index:03d}", "species": "homosapiens", "tra_v_call": str(x)}
        for index, x in enumerate(positions)
    ]
    receptors = pa.Table.from_pylist(rows, schema.RECEPTORS)
    epitopes = {"A": np.arange(n // 2), "B": np.arange(n // 3, n), "C": np.array([1, 4])}
    return fewshot.LabelledReceptors(receptors, epitopes, {})


def plan(table, ks=(1, 3), seed=1):
    return fewshot.plan_splits(table, ks=list(ks), n_splits=7, min_positives=10, seed=seed)


def test_scores_are_those_of_a_plain_loop():
    table = labelled()
    splits, _ = plan(table)
    auroc, roc = fewshot.score(Line(), "line", table, splits)
    x = np.array(table.receptors["tra_v_call"].to_pylist(), float)
    expected = []
    for split in splits:
        for rule, combine in (("nearest_neighbour", np.min), ("average_distance", np.mean)):
            for number, references in enumerate(split.references):
                tests = [i for i in range(len(x)) if i not in references]
                scores = [-combine([abs(x[i] - x[r]) for r in references]) for i in tests]
                binds = [i in table.epitopes[split.epitope] for i in tests]
                value = roc_auc_score(binds, scores)
                expected.append(
                    ("line", rule, split.epitope, split.k, number, value, sum(binds), len(binds) - sum(binds))
                )
    measured = auroc.to_pandas()
    wanted = pd.DataFrame(expected, columns=schema.AUROC.names)
    exact = [name for name in schema.AUROC.names if name != "auroc"]
    pd.testing.assert_frame_equal(measured[exact], wanted[exact], check_dtype=False)
    np.testing.assert_allclose(measured["auroc"], wanted["auroc"], atol=1e-12)
    curves = roc.to_pandas()
    assert set(curves["k"]) == {3}
    assert len(curves) == 2 * 2 * len(fewshot.FPR_GRID)


def test_k_1_takes_every_receptor_once_and_larger_k_are_random():
    table = labelled()
    by_key = {(split.epitope, split.k): split.references for split in plan(table)[0]}
    assert sorted(by_key["A", 1].ravel()) == list(range(30))
    assert by_key["A", 3].shape == (7, 3)
    assert all(len(set(row)) == 3 for row in by_key["A", 3])
    assert len({tuple(sorted(row)) for row in by_key["A", 3].tolist()}) == 7
    assert set(by_key["B", 3].ravel()) <= set(table.epitopes["B"])


def test_splits_depend_on_the_seed_and_on_nothing_else():
    table = labelled()
    digest = fewshot.digest(table, plan(table)[0])
    assert fewshot.digest(table, plan(table)[0]) == digest
    assert fewshot.digest(table, plan(table, seed=2)[0]) != digest
    alone = fewshot.LabelledReceptors(table.receptors, {"B": table.epitopes["B"]}, {})
    among_others = [split.references for split in plan(table)[0] if split.epitope == "B"]
    by_itself = [split.references for split in plan(alone)[0]]
    assert all((one == other).all() for one, other in zip(among_others, by_itself, strict=True))


def test_too_few_receptors_are_stated_not_dropped():
    splits, left_out = plan(labelled(), ks=(1, 3, 25))
    evaluated = {(split.epitope, split.k) for split in splits}
    stated = {(row["epitope"], row["k"]): row["reason"] for row in left_out.to_pylist()}
    assert evaluated.isdisjoint(stated)
    assert evaluated | set(stated) == {(epitope, k) for epitope in "ABC" for k in (1, 3, 25)}
    assert stated["C", 3] == "2 receptors of 13 needed: 3 references and 10 to test"


def test_an_epitope_that_all_receptors_bind_has_no_negatives():
    every = fewshot.LabelledReceptors(labelled().receptors, {"A": np.arange(60)}, {})
    splits, left_out = plan(every)
    assert splits == []
    assert set(left_out["reason"].to_pylist()) == {"all receptors of the table bind it"}


CELLS = [
    # receptor, epitope, reference
    ("whole1", "E1", "PMID:1"),
    ("whole1", "E1", "PMID:2"),  # again
    ("whole1", "E2", "PMID:1"),  # cross-reactive
    ("whole2", "E2", None),
    ("whole2", None, "PMID:1"),
    ("half", "E1", "PMID:1"),
    ("mouse", "E1", "PMID:1"),
    ("tenx", "E1", "https://www.10xGenomics.com/x"),
]


def test_only_labelled_complete_receptors_of_the_species_are_measured():
    whole = dict.fromkeys(schema.RECEPTOR_FIELDS, "x")
    rows = [
        {"receptor_id": name, "species": "musmusculus" if name == "mouse" else "homosapiens", **whole}
        for name in ("whole2", "whole1", "half", "mouse", "tenx", "whole1")  # as parts of a large table
    ]
    rows[2]["tra_j_call"] = None
    receptors = pa.Table.from_pylist(rows, schema.RECEPTORS)
    cells = pa.Table.from_pylist(
        [dict(zip(("receptor_id", "epitope", "reference_id"), cell, strict=True)) for cell in CELLS],
        schema.CELLS,
    )
    chosen = fewshot.select_labelled(
        cells, receptors, species="homosapiens", exclude_references="10xgenomics"
    )
    assert chosen.receptors["receptor_id"].to_pylist() == ["whole1", "whole2"]
    assert {name: rows.tolist() for name, rows in chosen.epitopes.items()} == {"E1": [0], "E2": [0, 1]}
    assert chosen.removed == {
        "without an epitope": 1,
        "reference contains '10xgenomics'": 1,
        "not homosapiens": 1,
        "incomplete: V, J or junction of a chain missing": 1,
        "the same receptor and epitope again": 1,
    }
    assert sum(chosen.removed.values()) + 3 == len(CELLS)


def test_summary_is_pandas_own():
    rng = np.random.default_rng(3)
    rows = [
        {"encoder": "e", "rule": "r", "epitope": epitope, "k": k, "split": split, "auroc": rng.random()}
        for epitope, ks in (("A", (1, 5)), ("B", (1, 5)), ("C", (1,)))
        for k in ks
        for split in range(6)
    ]
    summary = fewshot.summarise(pa.Table.from_pylist(rows, schema.AUROC)).to_pandas()
    plain = pd.DataFrame(rows).groupby(["epitope", "k"])["auroc"].agg(["mean", "std", "sem"])
    by_key = summary.set_index(["epitope", "k"])
    values = by_key.loc[plain.index, ["auroc_mean", "auroc_std", "auroc_se"]]
    np.testing.assert_allclose(values, plain)
    assert set(by_key.loc[plain.index, "n_splits"]) == {6}
    # C was not evaluated at k = 5, so that it is in neither mean.
    for k in (1, 5):
        two = plain.loc[[("A", k), ("B", k)]]
        assert by_key.loc[("mean", k), "auroc_mean"] == pytest.approx(two["mean"].mean())
        assert by_key.loc[("mean", k), "auroc_se"] == pytest.approx((two["sem"] ** 2).sum() ** 0.5 / 2)
