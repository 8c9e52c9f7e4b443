"""Methods and programs of the comparison with peers: what they get, what is read, what they used."""

import sys
from dataclasses import replace

from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import schema
from airrvec.encoders.tcrdist import Tcrdist

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from benchmarks.common import peer_programs
from benchmarks.common.peer_methods import Fold, exact_scores, tcrdist_scores

GENES = ("TRAV12-2", "TRAJ24*02", "TRBV6-5", "TRBJ2-7")
JUNCTIONS = [
    ("CAVNTGNQFYF", "CASSIRSSYEQYF"),
    ("CAVNTGNQFYF", "CASSIRSAYEQYF"),
    ("CAGAGSQGNLIF", "CASSLAPGATNEKLFF"),
    ("CAVRDSNYQLIW", "CASSPVTGGIYGYTF"),
]


def receptors(junctions) -> pa.Table:
    tra_v, tra_j, trb_v, trb_j = GENES
    values = [
        (f"r{row}", "homosapiens", tra_v, tra_j, alpha, trb_v, trb_j, beta)
        for row, (alpha, beta) in enumerate(junctions)
    ]
    names = ("receptor_id", "species", *schema.RECEPTOR_FIELDS)
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in values], schema.RECEPTORS)


@pytest.fixture
def fold() -> Fold:
    """Ten references each of A and B, one of C; the queries are a reference, and one like B's second."""
    junctions = [
        ("CAV" + "AS"[i % 2] + "GNQFYF", "CASSI" + "RST"[i % 3] * (i // 6 + 1) + "YEQYF") for i in range(20)
    ]
    labels = np.zeros((21, 3), np.float32)
    labels[:10, 0] = labels[10:20, 1] = labels[20, 2] = labels[0, 1] = 1
    epitopes = pd.DataFrame({"epitope": ["A", "B", "C"], "n_references": [10, 11, 1]})
    known = receptors([*junctions, JUNCTIONS[3]])
    reference = ReferenceSet(known, epitopes, sparse.csr_array(labels), None, [])
    asked = receptors([junctions[0], JUNCTIONS[3], JUNCTIONS[2]])
    return Fold(asked, reference, None, None, None, None)


def test_tcrdist_calls_the_nearest_reference_of_a_candidate(fold):
    epitope, score = tcrdist_scores(fold)
    labels = fold.known.labels.toarray()[:20, :2]
    distances = Tcrdist().distances(fold.queries, fold.known.receptors)[:, :20]
    np.testing.assert_array_equal(score, -distances.min(axis=1))
    assert score[0] == 0
    assert score[1] < 0  # its only equal is C's, which may not be called
    for row, called in enumerate(epitope):
        votes = labels[distances[row] == distances[row].min()].sum(axis=0)
        assert votes[called] == votes.max()


def test_exact_match_calls_candidates_alone(fold):
    _, score = exact_scores(fold)
    np.testing.assert_array_equal(score, [1, np.nan, np.nan])


@pytest.fixture
def cache(tmp_path):
    for package in peer_programs.PACKAGES.values():
        (tmp_path / package).mkdir()
        (tmp_path / package / "finished").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("candidates", "expected"), [(True, {"A": 10, "B": 11}), (False, {"A": 10, "B": 11, "C": 1})]
)
def test_vdjmatch_gets_each_receptor_with_each_epitope(fold, cache, candidates, expected):
    method = peer_programs.Vdjmatch("x", "paired", candidates)
    program, *_ = method.prepare(fold, cache, cache)
    assert program == cache / "vdjmatch==0.6.2" / "bin" / "vdjmatch"
    reference = pd.read_csv(cache / "reference.tsv", sep="\t")
    pairs = {
        (*pair, name)
        for pair, row in zip(
            fold.known.receptors.select(["tra_junction_aa", "trb_junction_aa"]).to_pandas().to_numpy(),
            fold.known.labels.toarray() > 0,
            strict=True,
        )
        for name, binds in zip("ABC", row, strict=True)
        if binds and name in expected
    }
    columns = ["junction_aa_alpha", "junction_aa_beta", "epitope"]
    assert set(reference[columns].itertuples(index=False, name=None)) == pairs
    assert reference["epitope"].iloc[0] == "B"  # the most frequent one comes first
    queries = pd.read_csv(cache / "queries.tsv", sep="\t")
    assert queries["clone_id"].tolist() == ["q0", "q1", "q2"]
    genes = ["TRAV12-2*01", "TRAJ24*02", "TRBV6-5*01", "TRBJ2-7*01"]
    assert queries[["v_alpha", "j_alpha", "v_beta", "j_beta"]].iloc[0].tolist() == genes


def test_vdjmatch_rows_are_found_again(fold, cache):
    method = peer_programs.Vdjmatch("x", "TRB", True)
    method.prepare(fold, cache, cache)
    assert list(pd.read_csv(cache / "queries.tsv", sep="\t").columns) == [
        "sequence_id", "v_call", "j_call", "junction_aa", "locus",
    ]  # fmt: skip
    found = {"source_sequence_id": ["q2", "q0"], "selected_epitope": ["B", None], "kernel_score": [0.5, None]}
    pd.DataFrame(found).to_csv(cache / "found.selection.tsv", sep="\t", index=False)
    calls = method.read(fold, cache)
    assert calls["epitope"].fillna("").tolist() == ["", "", "B"]
    np.testing.assert_array_equal(calls["score"], [np.nan, np.nan, 0.5])


def test_vdjmatch_gets_all_beta_chains_of_candidates(fold, cache):
    """An unpaired chain of A; a pair of A and C, which has too few references; one of another species."""
    table = receptors(JUNCTIONS[:3]).to_pandas()
    table.loc[0, ["tra_v_call", "tra_j_call", "tra_junction_aa"]] = None
    table.loc[2, "species"] = "musmusculus"
    cells = [("r0", "A"), ("r0", "A"), ("r1", "A"), ("r1", "C"), ("r2", "A")]
    given = replace(
        fold,
        receptors=pa.Table.from_pandas(table, schema.RECEPTORS),
        cells=pa.table(dict(zip(("receptor_id", "epitope"), zip(*cells, strict=True), strict=True))),
    )
    peer_programs.Vdjmatch("x", "TRB", True, unpaired=True).prepare(given, cache, cache)
    reference = pd.read_csv(cache / "reference.tsv", sep="\t")
    assert list(zip(reference["junction_aa"], reference["epitope"], strict=True)) == [
        (JUNCTIONS[0][1], "A"),
        (JUNCTIONS[1][1], "A"),
    ]


def test_tcremp_rows_are_references_of_candidates(fold, cache):
    method = peer_programs.Tcremp("x", "sqrt")
    method.prepare(fold, cache, cache)
    references = pd.read_csv(cache / "references.tsv", sep="\t")
    assert len(references) == 21  # ten of A, eleven of B
    np.savez(cache / "nearest.npz", nearest=[0, 11, 20], distance=[0.0, 2.5, 1.0])
    calls = method.read(fold, cache)
    assert calls["epitope"].tolist() == ["B", "A", "A"]
    assert calls["score"].tolist() == [0, -2.5, -1]


def test_what_a_program_used(tmp_path):
    code = "x = bytearray(300_000_000); sum(range(3_000_000))"
    used = peer_programs.run([sys.executable, "-c", code], tmp_path, 60)
    assert (used["status"], used["late"]) == (0, False)
    assert 280 < used["memory"] < 400
    assert used["processor"] > 0
    small = peer_programs.run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, 60)
    assert small["status"] == 3
    assert small["memory"] < 100  # not that of this process, which started it
    assert small["processor"] < used["processor"]


def test_a_program_that_takes_too_long_is_ended(tmp_path):
    used = peer_programs.run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, 1)
    assert used["late"]
    assert used["status"] == -9
