"""Measures of the comparison with peers, against scikit-learn and plain loops; programs' files."""

import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

import peer_programs
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import schema
from airrvec.encoders.tcrdist import Tcrdist
from peer_measures import MEASURES, Calls, Ranking, bootstrap, interval
from peer_methods import Fold, exact_scores, tcrdist_scores

PREVALENCE = 0.25


def made(seed=0, n=300, b=500, levels=40) -> Calls:
    """Return calls with many equal scores; every tenth query has no call."""
    rng = np.random.default_rng(seed)
    score = rng.integers(levels, size=n).astype(float)
    right = rng.random(n) < score / levels
    score[::10], right[::10] = -np.inf, False
    background = rng.integers(levels, size=b) * 0.7
    background[:20] = -np.inf
    return Calls(score, right, rng.random(n) < 0.6, rng.integers(12, size=n), background)


def plain(calls: Calls, weight: np.ndarray, reachable_only: bool):
    """Return precision and recall at each threshold, one after the other."""
    queries = PREVALENCE * weight / weight.sum()
    other = (1 - PREVALENCE) / len(calls.background)
    counted = calls.reachable if reachable_only else np.ones(len(weight), bool)
    finite = np.concatenate([calls.score, calls.background])
    for threshold in np.unique(finite[np.isfinite(finite)])[::-1]:
        passing = calls.score >= threshold
        right = queries[passing & calls.right & counted].sum()
        ignored = queries[passing & calls.right & ~counted].sum()
        n_called = queries[passing].sum() - ignored + other * (calls.background >= threshold).sum()
        yield (right / n_called if n_called else 0), right / queries[counted].sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_average_precision_is_that_of_scikit_learn(weighted):
    calls = made()
    weight = np.random.default_rng(1).integers(4, size=len(calls.score)) if weighted else np.ones(300)
    found = Ranking(calls, PREVALENCE).measure(weight if weighted else None)
    shares = np.concatenate(
        [PREVALENCE * weight / weight.sum(), np.full(500, (1 - PREVALENCE) / len(calls.background))]
    )
    scores = np.concatenate([calls.score, calls.background])
    right = np.concatenate([calls.right, np.zeros(500, bool)])
    reachable = np.concatenate([calls.reachable, np.ones(500, bool)])
    labelled = np.arange(800) < 300
    for name, used, positive in (
        ("ap", ~(right & ~reachable), labelled & reachable),
        ("ap_all", np.ones(800, bool), labelled),
    ):
        used &= np.isfinite(scores)
        precision = average_precision_score(right[used], scores[used], sample_weight=shares[used])
        # scikit-learn's positives are the right calls, ours are all queries that could be called right
        expected = precision * shares[used & right].sum() / shares[positive].sum()
        assert found[name] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_recall_at_a_false_discovery_rate_is_that_of_plain_loops(seed):
    calls = made(seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=len(calls.score))
    found = Ranking(calls, PREVALENCE).measure(weight)
    points = list(plain(calls, weight, reachable_only=True))
    for rate in (0.05, 0.1, 0.2):
        expected = max((recall for precision, recall in points if precision >= 1 - rate), default=0)
        assert found[f"recall_{100 * rate:.0f}"] == pytest.approx(expected, abs=1e-12)
    average = sum(
        (recall - before) * precision
        for (precision, recall), (_, before) in zip(points, [(0, 0), *points], strict=False)
    )
    assert found["ap"] == pytest.approx(average, abs=1e-12)


def test_rates_by_hand():
    """Four queries are half of the mixture and four background receptors the other half."""
    score = np.array([4.0, 3.0, 1.0, -np.inf])
    right = np.array([True, True, False, False])
    calls = Calls(score, right, np.array([True, True, True, False]), np.arange(4), np.array([2.0, 0, 0, 0]))
    found = Ranking(calls, 0.5).measure()
    assert found == pytest.approx(
        {
            "ap": 2 / 3,
            "ap_all": 0.5,
            "recall_5": 2 / 3,
            "recall_10": 2 / 3,
            "recall_20": 2 / 3,
            "top_1": 2 / 3,
        }
    )
    late = Calls(score, right, calls.reachable, calls.study, np.array([5.0, 0, 0, 0]))
    assert Ranking(late, 0.5).measure()["ap"] == pytest.approx((1 / 2 + 2 / 3) / 3)
    assert Ranking(late, 0.5).measure()["recall_20"] == 0


def test_right_calls_out_of_reach_count_among_all_alone():
    score, right = np.array([2.0, 1.0]), np.array([True, True])
    calls = Calls(score, right, np.array([False, True]), np.arange(2), np.array([0.0]))
    found = Ranking(calls, 0.5).measure()
    assert (found["ap"], found["ap_all"], found["top_1"]) == (1, 1, 1)
    alone = Calls(score, np.array([True, False]), calls.reachable, calls.study, calls.background)
    found = Ranking(alone, 0.5).measure()
    assert (found["ap"], found["ap_all"], found["top_1"]) == (0, 0.5, 0)


def test_bootstrap_draws_whole_studies():
    """One study is called right, the other wrong: top-1 is the share of draws of the first."""
    study = np.repeat([3, 8], [30, 10])
    calls = Calls(np.ones(40), study == 3, np.ones(40, bool), study, np.zeros(5))
    top_1 = bootstrap(calls, 400)[:, MEASURES.index("top_1")]
    values, counts = np.unique(top_1.round(9), return_counts=True)
    np.testing.assert_allclose(values, [0, 0.75, 1])  # the second twice, each once, the first twice
    np.testing.assert_allclose(counts / 400, [0.25, 0.5, 0.25], atol=0.1)
    np.testing.assert_array_equal(bootstrap(calls, 20), bootstrap(calls, 20))
    low, high = interval(bootstrap(calls, 400))
    assert (low[-1], high[-1]) == pytest.approx((0, 1))


def test_bootstrap_of_one_study_has_no_width():
    calls = made()
    one = Calls(calls.score, calls.right, calls.reachable, np.zeros(300, int), calls.background)
    drawn = bootstrap(one, 5)
    np.testing.assert_allclose(drawn, [list(Ranking(one).measure().values())] * 5)


def test_bootstrap_is_as_wide_as_studies_differ():
    """The standard error of the mean of 50 studies of equal size."""
    study = np.repeat(np.arange(50), 20)
    rates = np.random.default_rng(0).random(50)
    right = np.concatenate([np.arange(20) < round(20 * rate) for rate in rates])
    calls = Calls(np.ones(1000), right, np.ones(1000, bool), study, np.zeros(5))
    drawn = bootstrap(calls, 1000)[:, MEASURES.index("top_1")]
    expected = (np.round(20 * rates) / 20).std() / np.sqrt(50)
    assert drawn.std() == pytest.approx(expected, rel=0.1)


def test_pooled_calls_keep_their_studies():
    parts = [made(seed) for seed in (0, 1)]
    both = Calls.pooled(parts)
    np.testing.assert_array_equal(both.score[300:], parts[1].score)
    assert (len(both.right), len(both.background)) == (600, 1000)


# --- methods and programs

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
