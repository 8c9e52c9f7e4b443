"""Specificity: small tables against scikit-learn and plain loops, and SCEPTR on VDJdb."""

from dataclasses import replace

from airrvec import encoders
from airrvec.core import schema
from airrvec.evaluation import fewshot, scoring
from airrvec.evaluation.heldout import specificity
from airrvec.evaluation.heldout.splits import check_leaks, column_split, random_split, study_split

import numpy as np
import pyarrow as pa
import pytest
from inputs import needs_vdjdb, vdjdb_labelled
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import OneHotEncoder
from test_rules import LOOPS

EPITOPES = ("A", "B", "C")


class Line:
    """An encoder that puts receptors on a line, at the number that stands for their β V call."""

    def distances(self, queries, references):
        x, y = (np.array(table["trb_v_call"].to_pylist(), float) for table in (queries, references))
        return np.abs(x[:, None] - y[None])


def table(n=90) -> fewshot.LabelledReceptors:
    rng = np.random.default_rng(0)
    epitopes = np.arange(n) % 3
    letters = np.array(list("ACDEFGHIKL"))
    rows = [
        {
            "receptor_id": f"{number:03d}",
            "clonotype_id": f"{number:03d}",
            "species": "homosapiens",
            "tra_v_call": f"TRAV{epitopes[number]}*0{number % 4}",
            "tra_j_call": "TRAJ10",
            "tra_junction_aa": "C" + "A" * 8 + "F",
            "trb_v_call": str(epitopes[number] * 0.4 + rng.normal(0, 0.6)),
            "trb_j_call": "TRBJ1",
            "trb_junction_aa": "C" + "".join(rng.choice(letters[:3], 2)) + "AAAAAAF",
        }
        for number in range(n)
    ]
    cells = [
        {
            "receptor_id": f"{number:03d}",
            "epitope": EPITOPES[epitopes[number]],
            "reference_id": f"s{number % 2}",
        }
        for number in range(n)
    ]
    cells += [{"receptor_id": f"{number:03d}", "epitope": "C", "reference_id": "s1"} for number in (0, 9, 18)]
    return fewshot.select_labelled(
        pa.Table.from_pylist(cells, schema.CELLS),
        pa.Table.from_pylist(rows, schema.RECEPTORS),
        species="homosapiens",
    )


SPLIT = random_split(table(), fractions=(0.5, 0.1, 0.4))


def test_every_auroc_is_a_plain_loops():
    measured = specificity.evaluate(Line(), "line", SPLIT)
    assert measured.schema == schema.SPECIFICITY
    by_key = {(row["rule"], row["test_set"], row["epitope"]): row for row in measured.to_pylist()}
    assert len(by_key) == len(measured) == 5 * 3 * 4
    x = np.array(SPLIT.labelled.receptors["trb_v_call"].to_pylist(), float)
    for rule, loop in LOOPS.items():
        for test_set, similarity in (("all", None), ("below_90", 0.9), ("below_80", 0.8)):
            tests = check_leaks(SPLIT, similarity)
            values = []
            for epitope in EPITOPES:
                binders = set(SPLIT.labelled.epitopes[epitope])
                rows = sorted(
                    set(tests[epitope]) | {row for e in EPITOPES for row in tests[e] if row not in binders}
                )
                scores = []
                for row in rows:
                    own = [abs(x[row] - x[other]) for other in SPLIT.train[epitope]]
                    others = [abs(x[row] - x[t]) for e in EPITOPES if e != epitope for t in SPLIT.train[e]]
                    scores.append(-loop(own, others))
                truth = [row in binders for row in rows]
                row = by_key[rule, test_set, epitope]
                assert (row["n_positive"], row["n_negative"]) == (sum(truth), len(truth) - sum(truth))
                values.append(roc_auc_score(truth, scores))
                assert row["auroc"] == pytest.approx(values[-1], abs=1e-9)
            assert by_key[rule, test_set, "mean"]["auroc"] == pytest.approx(np.mean(values), abs=1e-9)
    assert set(measured["encoder"].to_pylist()) == {"line"}


def test_the_filtered_sets_are_smaller():
    rows = specificity.evaluate(Line(), "line", SPLIT).to_pylist()
    n = {
        test_set: sum(
            row["n_positive"]
            for row in rows
            if row["rule"] == "contrast" and row["test_set"] == test_set and row["epitope"] != "mean"
        )
        for test_set in specificity.LEAST_IDENTITY
    }
    assert n["all"] == len(SPLIT.rows("test"))
    assert n["below_80"] <= n["below_90"] <= n["all"]


def test_a_cross_reactive_receptor_is_no_negative_of_what_it_binds():
    cells = [(f"{number}", epitope, None) for number, epitope in enumerate("AABB")]
    parts = ["train", "test", "train", "test"]
    split = column_split(labelled_on_a_line([*cells, ("1", "B", None)], [*parts, "test"]))
    rows = specificity.evaluate(Line(), "line", split).to_pylist()
    nearest = {
        row["epitope"]: row for row in rows if (row["rule"], row["test_set"]) == ("nearest_neighbour", "all")
    }
    assert (nearest["A"]["n_positive"], nearest["A"]["n_negative"], nearest["A"]["auroc"]) == (1, 1, 1)
    # Both test receptors bind B, so that nothing is left to compare with, and there is no mean.
    assert (nearest["B"]["n_positive"], nearest["B"]["n_negative"], nearest["B"]["auroc"]) == (2, 0, None)
    assert nearest["mean"]["auroc"] is None


def labelled_on_a_line(cells, parts):
    whole = dict.fromkeys(schema.RECEPTOR_FIELDS, "x")
    names = sorted({cell[0] for cell in cells})
    rows = [
        {"receptor_id": n, "clonotype_id": n, "species": "homosapiens", **whole, "trb_v_call": n}
        for n in names
    ]
    columns = ("receptor_id", "epitope", "reference_id")
    table = pa.Table.from_pylist([dict(zip(columns, cell, strict=True)) for cell in cells], schema.CELLS)
    return fewshot.select_labelled(
        table.drop_columns("split").append_column("split", pa.array(parts)),
        pa.Table.from_pylist(rows, schema.RECEPTORS),
        species="homosapiens",
    )


def aurocs(table, test_set="all"):
    return {
        (row["rule"], row["epitope"]): row["auroc"]
        for row in table.to_pylist()
        if row["test_set"] == test_set
    }


def test_the_floor_knows_genes_and_no_alleles():
    receptors = SPLIT.labelled.receptors
    plain = receptors.set_column(
        receptors.column_names.index("trb_v_call"), "trb_v_call", pa.array(["TRBV1"] * len(receptors))
    )
    told_by_gene = replace(SPLIT, labelled=replace(SPLIT.labelled, receptors=plain))
    of_gene = aurocs(specificity.gene_baseline(told_by_gene))
    assert of_gene["logistic_regression", "A"] == 1
    # The α V gene is the number modulo three and its allele modulo four: alleles alone tell nothing.
    calls = [f"TRAV1*{call.split('*')[1]}" for call in plain["tra_v_call"].to_pylist()]
    index = plain.column_names.index("tra_v_call")
    same_gene = plain.set_column(index, "tra_v_call", pa.array(calls))
    told_by_allele = replace(SPLIT, labelled=replace(SPLIT.labelled, receptors=same_gene))
    assert set(aurocs(specificity.gene_baseline(told_by_allele)).values()) == {0.5}


def test_unseen_epitopes_are_those_outside_of_the_split():
    whole = table()
    split = replace(
        SPLIT,
        **{
            part: {epitope: getattr(SPLIT, part)[epitope] for epitope in "AB"}
            for part in ("train", "validation", "test")
        },
    )
    options = {"ks": (1, 4), "n_splits": 3, "seed": 7}
    measured = specificity.evaluate_unseen_epitopes(Line(), "line", split, min_binders=20, **options)
    planned, _ = fewshot.plan_splits(whole, ks=[1, 4], n_splits=3, min_positives=16, seed=7)
    every = scoring.score(Line(), "line", whole, planned, rules=scoring.PAPER_RULES).auroc.to_pylist()
    found = measured.to_pylist()
    assert [row for row in found if row["test_set"] == "all"] == [
        row for row in every if row["epitope"] == "C"
    ]
    without = [row for row in found if row["test_set"] == "not_trained"]
    assert len(without) == len(found) / 2 > 0
    seen = np.union1d(split.rows("train"), split.rows("validation"))
    n_seen = len(seen)
    for row in without:  # some receptors of C bind A too, and train
        n_tested = len(whole.receptors) - n_seen
        assert n_tested - row["k"] <= row["n_positive"] + row["n_negative"] <= n_tested
        assert row["n_negative"] == len(np.setdiff1d(np.arange(90), np.union1d(seen, whole.epitopes["C"])))
    n = len(whole.epitopes["C"])
    assert specificity.evaluate_unseen_epitopes(Line(), "line", split, min_binders=n - 1, **options).num_rows
    assert not specificity.evaluate_unseen_epitopes(Line(), "line", split, min_binders=n, **options).num_rows


def test_training_receptors_are_no_negatives_of_unseen_epitopes():
    """An encoder that sets its training receptors apart gains by them in the paper's pool alone."""
    whole = table()
    parts = {
        part: {epitope: getattr(SPLIT, part)[epitope] for epitope in "AB"}
        for part in ("train", "validation", "test")
    }
    split = replace(SPLIT, **parts)
    seen = np.union1d(split.rows("train"), split.rows("validation"))
    trained = set(whole.receptors.take(pa.array(seen))["receptor_id"].to_pylist())

    class SetsApart:
        def embed(self, receptors):
            ids = receptors["receptor_id"].to_pylist()
            return np.array([[1000.0 if name in trained else 0.0] for name in ids], np.float32)

    measured = specificity.evaluate_unseen_epitopes(
        SetsApart(), "it", split, ks=(4,), n_splits=3, min_binders=20
    )
    means = measured.to_pandas().query("rule == 'nearest_neighbour'").groupby("test_set")["auroc"].mean()
    assert means["not_trained"] == 0.5  # all receptors in one place
    assert means["all"] > 0.7


@pytest.fixture(scope="module")
def vdjdb_split():
    return study_split(vdjdb_labelled())


@needs_vdjdb
def test_sceptr_on_vdjdb(vdjdb_split):
    measured = aurocs(specificity.evaluate(encoders.load("sceptr"), "sceptr", vdjdb_split))
    for rule, value in {
        "nearest_neighbour": 0.785,
        "average_distance": 0.778,
        "soft_nearest_neighbour": 0.801,
        "contrast": 0.930,
    }.items():
        assert measured[rule, "mean"] == pytest.approx(value, abs=0.01)


@needs_vdjdb
def test_the_published_fine_tuned_sceptr_on_vdjdb(vdjdb_split):
    table = specificity.evaluate(encoders.load("sceptr_finetuned"), "sceptr_finetuned", vdjdb_split)
    of_all, below_90, below_80 = (
        aurocs(table, test_set)["average_distance", "mean"] for test_set in specificity.LEAST_IDENTITY
    )
    assert of_all == pytest.approx(0.894, abs=0.01)
    assert of_all > below_90 > below_80 > 0.8


@needs_vdjdb
def test_the_floor_on_vdjdb(vdjdb_split):
    assert aurocs(specificity.gene_baseline(vdjdb_split))["logistic_regression", "mean"] == pytest.approx(
        0.888, abs=0.01
    )
    # A weaker one was measured first: alleles, and linear scores in place of probabilities.
    columns = [vdjdb_split.labelled.receptors[name].to_pylist() for name in specificity.GENES]
    calls = np.array(list(zip(*columns, strict=True)))
    rows = np.concatenate([vdjdb_split.train[epitope] for epitope in vdjdb_split.epitopes])
    encoder = OneHotEncoder(handle_unknown="ignore").fit(calls[rows])
    model = LogisticRegression(max_iter=1000)
    model.fit(encoder.transform(calls[rows]), np.repeat(vdjdb_split.epitopes, 200))
    tests = vdjdb_split.rows("test")
    scores = model.decision_function(encoder.transform(calls[tests]))
    values = [
        roc_auc_score(np.isin(tests, vdjdb_split.test[epitope]), scores[:, number])
        for number, epitope in enumerate(model.classes_)
    ]
    assert np.mean(values) == pytest.approx(0.875, abs=0.01)
