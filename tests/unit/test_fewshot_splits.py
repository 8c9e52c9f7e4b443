"""The benchmark's receptors, splits and summary."""

from airrvec.core import schema
from airrvec.evaluation import fewshot

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from receptors_on_a_line import labelled, plan


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
        "a gene that is an open reading frame": 0,
        "the same receptor and epitope again": 1,
    }
    assert sum(chosen.removed.values()) + 3 == len(CELLS)


def test_an_epitope_called_mean_is_not_the_mean():
    whole = dict.fromkeys(schema.RECEPTOR_FIELDS, "x")
    receptors = pa.Table.from_pylist(
        [{"receptor_id": "a", "species": "homosapiens", **whole}], schema.RECEPTORS
    )
    cells = pa.Table.from_pylist(
        [{"receptor_id": "a", "epitope": epitope} for epitope in ("mean", "E", None)], schema.CELLS
    )
    chosen = fewshot.select_labelled(cells, receptors, species="homosapiens")
    assert list(chosen.epitopes) == ["E", "mean (epitope)"]
    assert chosen.removed["without an epitope"] == 1
    assert sorted(chosen.sources["epitope"].to_pylist()) == ["E", "mean (epitope)"]


SETTING = {"encoder": "e", "rule": "r", "chains": "paired", "test_set": "all", "excluded": "none"}


def test_summary_is_pandas_own():
    rng = np.random.default_rng(3)
    rows = [
        {
            **SETTING,
            "epitope": epitope,
            "k": k,
            "split": split,
            **{name: rng.random() for name in schema.METRICS},
        }
        for epitope, ks in (("A", (1, 5)), ("B", (1, 5)), ("C", (1,)))
        for k in ks
        for split in range(6)
    ]
    summary = fewshot.summarise(pa.Table.from_pylist(rows, schema.AUROC)).to_pandas()
    by_key = summary.set_index(["epitope", "k"])
    for name in reversed(schema.METRICS):
        plain = pd.DataFrame(rows).groupby(["epitope", "k"])[name].agg(["mean", "std", "sem"])
        values = by_key.loc[plain.index, [f"{name}_mean", f"{name}_std", f"{name}_se"]]
        np.testing.assert_allclose(values, plain)
    assert set(by_key.loc[plain.index, "n_splits"]) == {6}
    # C was not evaluated at k = 5, so that it is in neither mean.
    for k in (1, 5):
        two = plain.loc[[("A", k), ("B", k)]]
        assert by_key.loc[("mean", k), "auroc_mean"] == pytest.approx(two["mean"].mean())
        assert by_key.loc[("mean", k), "auroc_se"] == pytest.approx((two["sem"] ** 2).sum() ** 0.5 / 2)
