"""The benchmark: its receptors, splits, metrics and summary, against plain loops and scikit-learn."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from airrvec.benchmark import distances as benchmark_distances
from airrvec.benchmark import fewshot, rules, scoring, similarity, test_sets
from airrvec.core import schema
from airrvec.encoders import NotMeasurable
from airrvec.stats import metrics


class Line:
    """An encoder that puts receptors on a line, at the number that stands for their V call."""

    def distances(self, queries, references):
        x, y = (np.array(table["tra_v_call"].to_pylist(), float) for table in (queries, references))
        return np.abs(x[:, None] - y[None])


class Place:
    """The same place as a vector of one number."""

    def embed(self, receptors):
        return np.array(receptors["tra_v_call"].to_pylist(), np.float32)[:, None]


def labelled(n=60) -> fewshot.LabelledReceptors:
    rng = np.random.default_rng(0)
    positions = np.where(np.arange(n) < n // 2, rng.normal(0, 1, n), rng.normal(1, 2, n))
    positions = (10 * positions).round()  # whole, so that ties are exact
    rows = [
        {
            "receptor_id": f"{index:03d}",
            "species": "homosapiens",
            **{
                f"{locus}_junction_aa": junction
                for locus, junction in zip(("tra", "trb"), JUNCTIONS[index % 4], strict=True)
            },
            "tra_v_call": str(x),
            "trb_v_call": f"TRBV{index % 2}*01",
        }
        for index, x in enumerate(positions)
    ]
    receptors = pa.Table.from_pylist(rows, schema.RECEPTORS)
    epitopes = {"A": np.arange(n // 2), "B": np.arange(n // 3, n), "C": np.array([1, 4])}
    return fewshot.LabelledReceptors(receptors, epitopes, {})


JUNCTIONS = [("CAVF", "CASSF"), ("CAVF", "CASTF"), ("CAVRRF", "CASSF"), ("CALLLLLF", "CAWWWWF")]


def plan(table, ks=(1, 3), seed=1):
    return fewshot.plan_splits(table, ks=list(ks), n_splits=7, min_positives=10, seed=seed)


def plain_rules(x, references, others):
    """Scores of all receptors by each rule, in float64."""
    to_epitope = [[abs(x[i] - x[r]) for r in references] for i in range(len(x))]
    to_all = [[abs(x[i] - x[r]) for r in [*references, *others]] for i in range(len(x))]
    soft = [-0.05 * np.logaddexp.reduce(-np.array(row) / 0.05) for row in to_epitope]
    soft_all = [-0.05 * np.logaddexp.reduce(-np.array(row) / 0.05) for row in to_all]
    return {
        "nearest_neighbour": [min(row) for row in to_epitope],
        "average_distance": [sum(row) / len(row) for row in to_epitope],
        "mean_of_nearest": [sum(sorted(row)[:5]) / len(row[:5]) for row in to_epitope],
        "soft_nearest_neighbour": soft,
        "contrast": [one - all for one, all in zip(soft, soft_all, strict=True)],
    }


@pytest.mark.parametrize("kept_bytes", [2**30, 30 * 60 * 8, 0])
@pytest.mark.parametrize("encoder", [Line(), Place()])
def test_scores_are_those_of_a_plain_loop(monkeypatch, kept_bytes, encoder):
    # All distances kept, those of the first epitope alone, none.
    monkeypatch.setattr(benchmark_distances, "KEPT_BYTES", kept_bytes)
    for module in (benchmark_distances, scoring):
        monkeypatch.setattr(module, "BATCH_BYTES", 60 * 4 * 10)
    table = labelled()
    splits, _ = plan(table)
    names = list(rules.DISTANCE_RULES)
    found = scoring.score(encoder, "line", table, splits, rules=tuple(names))
    x = np.array(table.receptors["tra_v_call"].to_pylist(), float)
    expected = []
    for split in splits:
        (other,) = [s.references for s in splits if s.k == split.k and s.epitope != split.epitope]
        for rule in names:
            for number, references in enumerate(split.references):
                others = other[number % len(other)]
                scores = plain_rules(x, references, others)[rule]
                seen = {*references, *(others if rule == "contrast" else ())}
                tests = [i for i in range(len(x)) if i not in seen]
                binds = [i in table.epitopes[split.epitope] for i in tests]
                ranked = [-np.float32(scores[i]).round(3) for i in tests]
                values = (
                    roc_auc_score(binds, ranked),
                    roc_auc_score(binds, ranked, max_fpr=0.1),
                    average_precision_score(binds, ranked),
                )
                setting = ("line", rule, "paired", "all", "none", split.epitope, split.k, number)
                expected.append((*setting, *values, sum(binds), len(binds) - sum(binds)))
    measured = found.auroc.to_pandas()
    wanted = pd.DataFrame(expected, columns=schema.AUROC.names)
    exact = [name for name in schema.AUROC.names if name not in schema.METRICS]
    pd.testing.assert_frame_equal(measured[exact], wanted[exact], check_dtype=False)
    # The kernel's float32 may part what is tied to the last digit, in soft rules alone.
    paper = measured["rule"].isin(names[:3])
    for name in schema.METRICS:
        np.testing.assert_allclose(measured.loc[paper, name], wanted.loc[paper, name], atol=1e-12)
        np.testing.assert_allclose(measured[name], wanted[name], atol=0.02)
    curves = found.roc.to_pandas()
    assert set(curves["k"]) == {3}
    assert len(curves) == len(names) * 2 * len(metrics.FPR_GRID)
    assert len(found.not_evaluated) == 0


class OnCircle:
    """Unit vectors, so that distances are small and the soft rules' exponentials are shared."""

    def embed(self, receptors):
        angles = 0.3 * np.array(receptors["tra_v_call"].to_pylist(), float) + 0.01 * np.arange(len(receptors))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def test_shared_exponentials_change_no_rule():
    table = labelled()
    shown = benchmark_distances.Distances(OnCircle(), table.receptors, None)
    shown.keep(np.arange(40))
    references, others = np.arange(12).reshape(4, 3), np.arange(12, 36).reshape(4, 6)
    to_epitope, to_others = (shown.distances(rows).astype(np.float64) for rows in (references, others))
    to_all = np.concatenate([to_epitope, to_others], axis=2)
    assert shown.density(references) is not None
    soft, contrast = rules.soft_nearest_neighbour(to_epitope), rules.contrast(to_epitope, to_all)
    # All distances are kept; only the epitope's, as in a large table; none.
    for kept in (40, 12, 0):
        shown.keep(np.arange(kept))
        for rule, expected in (("soft_nearest_neighbour", soft), ("contrast", contrast)):
            found = scoring._rule_scores(rule, references, others, shown)
            np.testing.assert_allclose(found, expected, atol=1e-6)
    shown.keep(np.arange(40))
    # A row whose distances are not kept; distances so large that exponentials would vanish.
    assert shown.density(references + 30) is None
    far = benchmark_distances.Distances(Place(), table.receptors, None)
    far.keep(np.arange(40))
    assert far.density(references) is None


def test_a_classifier_is_scikit_learns_and_needs_vectors():
    from sklearn.svm import SVC

    table = labelled()
    splits, _ = plan(table, ks=(3,))
    negatives = labelled().receptors.slice(0, 20)
    found = scoring.score(Place(), "place", table, splits, rules=("linear_svc",), background=negatives)
    x = Place().embed(table.receptors)
    for split in splits:
        rows = split.references[0]
        model = SVC(kernel="linear", class_weight="balanced")
        model.fit(np.concatenate([x[rows], Place().embed(negatives)]), np.arange(23) < 3)
        tests = np.setdiff1d(np.arange(60), rows)
        value = roc_auc_score(
            np.isin(tests, table.epitopes[split.epitope]), model.decision_function(x[tests])
        )
        row = found.auroc.to_pandas().query("epitope == @split.epitope and split == 0")
        assert row["auroc"].item() == pytest.approx(value)
    found = scoring.score(Line(), "line", table, splits, rules=("linear_svc", "nearest_neighbour"))
    assert set(found.auroc["rule"].to_pylist()) == {"nearest_neighbour"}
    (row,) = found.not_evaluated.to_pylist()
    assert (row["encoder"], row["rule"], row["epitope"]) == ("line", "linear_svc", None)
    assert row["reason"] == "the encoder gives distances, no vectors"


def test_test_sets_are_those_of_a_plain_loop():
    table = labelled()
    studies = [f"S{index % 5}" if index % 7 else None for index in range(60)]
    sources = [
        {"receptor_id": f"{row:03d}", "epitope": epitope, "reference_id": studies[row]}
        for epitope, rows in table.epitopes.items()
        for row in rows
    ]
    table = fewshot.LabelledReceptors(table.receptors, table.epitopes, {}, pa.Table.from_pylist(sources))
    splits, _ = plan(table)
    found = scoring.score(Line(), "line", table, splits, test_sets=test_sets.TEST_SETS).auroc.to_pandas()
    x = table.receptors["tra_v_call"].to_pylist()

    def similar(test, reference, least):
        if (x[test], test % 2) != (x[reference], reference % 2):
            return False
        edits = {(0, 0): 0, (0, 2): 2, (1, 1): 0, (1, 3): 11, (2, 2): 0, (3, 3): 0}
        one, two = sorted((test % 4, reference % 4))
        return 1 - edits[one, two] / sum(map(len, JUNCTIONS[test % 4])) >= least

    for row in found.query("rule == 'nearest_neighbour'").itertuples():
        (split,) = [s for s in splits if (s.epitope, s.k) == (row.epitope, row.k)]
        references = split.references[row.split]
        kept = {
            "all": lambda i, r: True,
            "below_90": lambda i, r: not similar(i, r, 0.9),
            "below_80": lambda i, r: not similar(i, r, 0.8),
            "other_studies": lambda i, r: studies[i] is not None and studies[i] != studies[r],
        }[row.test_set]
        tests = [i for i in range(60) if i not in references and all(kept(i, r) for r in references)]
        n_positive = len(np.intersect1d(tests, table.epitopes[row.epitope]))
        assert (row.n_positive, row.n_negative) == (n_positive, len(tests) - n_positive)
    assert set(found["test_set"]) == set(test_sets.TEST_SETS)
    counts = found.groupby("test_set")["n_positive"].sum()
    assert counts["all"] > counts["below_90"]


def test_an_empty_test_set_is_stated_not_dropped():
    table = labelled()
    sources = [
        {"receptor_id": f"{row:03d}", "epitope": epitope, "reference_id": "the only one"}
        for epitope, rows in table.epitopes.items()
        for row in rows
    ]
    table = fewshot.LabelledReceptors(table.receptors, table.epitopes, {}, pa.Table.from_pylist(sources))
    splits, _ = plan(table)
    found = scoring.score(Line(), "line", table, splits, test_sets=("all", "other_studies"))
    assert set(found.auroc["test_set"].to_pylist()) == {"all"}
    stated = found.not_evaluated.to_pandas()
    assert set(zip(stated["rule"], stated["epitope"], stated["k"], strict=True)) == {
        (rule, epitope, k) for rule in scoring.DEFAULT_RULES for epitope in "AB" for k in (1, 3)
    }
    assert set(stated["reason"]) == {
        f"no positive or no negative is left to test in {n} of {n} splits" for n in (30, 40, 7)
    }


def test_one_epitope_alone_has_nothing_to_be_contrasted_with():
    table = labelled()
    alone = fewshot.LabelledReceptors(table.receptors, {"A": table.epitopes["A"]}, {})
    found = scoring.score(Line(), "line", alone, plan(alone)[0], rules=("contrast", "nearest_neighbour"))
    assert set(found.auroc["rule"].to_pylist()) == {"nearest_neighbour"}
    assert [(row["rule"], row["k"]) for row in found.not_evaluated.to_pylist()] == [
        ("contrast", 1),
        ("contrast", 3),
    ]


def test_ties_everywhere_are_chance():
    class Same:
        def distances(self, queries, references):
            return np.zeros((len(queries), len(references)), np.int16)

    table = labelled()
    found = scoring.score(
        Same(), "same", table, plan(table)[0], rules=tuple(rules.DISTANCE_RULES)
    ).auroc.to_pandas()
    np.testing.assert_allclose(found[["auroc", "auroc_01"]], 0.5, atol=1e-12)
    share = found["n_positive"] / (found["n_positive"] + found["n_negative"])
    np.testing.assert_allclose(found["average_precision"], share)


class Refuses:
    def distances(self, queries, references):
        raise NotMeasurable("it needs both chains")


class NeedsBeta:
    needs = ("trb_j_call",)


class Blind:
    def embed(self, receptors):
        return np.where(np.arange(len(receptors)) < 2, np.nan, 1.0)[:, None]


class BlindDistances:
    """No distance to or from three receptors, of which one is the first reference."""

    def distance_rows(self, receptors):
        full = np.arange(len(receptors) ** 2, dtype=float).reshape(len(receptors), -1)
        for row in (0, 7, 40):
            full[row] = full[:, row] = np.nan
        return lambda rows: full[rows]


class SomePairs:
    """No distance between the receptors 1 and 2, where one of them is the query."""

    def distances(self, queries, references):
        found = np.ones((len(queries), len(references)))
        one, two = references["receptor_id"].to_pylist()[1:3]
        found[[name == one for name in queries["receptor_id"].to_pylist()], 2] = np.nan
        found[[name == two for name in queries["receptor_id"].to_pylist()], 1] = np.nan
        return found


@pytest.mark.parametrize(
    ("encoder", "reason"),
    [
        (Refuses(), "it needs both chains"),
        (NeedsBeta(), "it needs trb_j_call, which 60 receptors lack"),
        (Blind(), "it has no vector for 2 of 60 receptors"),
        (BlindDistances(), "it has no distances for 3 of 60 receptors"),
        (SomePairs(), "it has no distance for 2 of 3600 pairs of receptors"),
    ],
)
def test_what_an_encoder_cannot_do_is_stated(encoder, reason):
    table = labelled()
    found = scoring.score(encoder, "it", table, plan(table)[0], chains="alpha")
    assert len(found.auroc) == len(found.roc) == 0
    (row,) = found.not_evaluated.to_pylist()
    assert {name: value for name, value in row.items() if value is not None} == {
        "encoder": "it",
        "chains": "alpha",
        "excluded": "none",
        "reason": reason,
    }


def test_similar_pairs_of_one_chain_look_at_that_chain_alone():
    rows = [
        {"trb_v_call": v_call, "trb_junction_aa": junction}
        for v_call, junction in (
            ("V1*01", "CASSF"),
            ("V1*02", "CASTF"),
            ("V2", "CASSF"),
            ("V1", "CASSSSSSSSF"),
        )
    ]
    receptors = pa.Table.from_pylist(rows, schema.RECEPTORS)
    pairs = similarity.similar_pairs(receptors, np.array([0]), np.arange(4), 0.8)
    assert pairs.toarray().tolist() == [[1, 1, 0, 0]]


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
