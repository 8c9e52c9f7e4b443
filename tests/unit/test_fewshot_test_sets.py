"""Test sets of the benchmark, and what an encoder cannot measure."""

from airrvec.core import schema
from airrvec.encoders import NotMeasurable
from airrvec.evaluation import fewshot, scoring, similarity

import numpy as np
import pyarrow as pa
import pytest
from receptors_on_a_line import JUNCTIONS, Line, labelled, plan


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
    found = scoring.score(Line(), "line", table, splits, test_sets=similarity.TEST_SETS).auroc.to_pandas()
    x = table.receptors["tra_v_call"].to_pylist()
    clonotypes = [(x[row], row % 4) for row in range(60)]
    reported = [
        {studies[other] for other in range(60) if clonotypes[other] == clonotypes[row]} - {None}
        for row in range(60)
    ]
    assert len(set(clonotypes)) < 60

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
            "other_clonotypes": lambda i, r: clonotypes[i] != clonotypes[r],
            "other_studies": lambda i, r: reported[i] and not reported[i] & reported[r],
        }[row.test_set]
        tests = [i for i in range(60) if i not in references and all(kept(i, r) for r in references)]
        n_positive = len(np.intersect1d(tests, table.epitopes[row.epitope]))
        assert (row.n_positive, row.n_negative) == (n_positive, len(tests) - n_positive)
    assert set(found["test_set"]) == set(similarity.TEST_SETS)
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
