"""The measures of the public challenges, beside values made by hand, and their stand-ins' figures."""

import json

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core import schema

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from benchmarks.common import challenge_stand_ins, challenges
from benchmarks.common.small_material import Material
from benchmarks.scoreboard import epytope_viral, immrep22


@pytest.fixture(scope="module")
def material(tmp_path_factory) -> Material:
    return Material(tmp_path_factory.mktemp("challenges"))


def test_micro_auc_joins_receptors_with_equal_cdr3s():
    rows = pd.DataFrame(
        {
            "TRA_CDR3": ["CA", "CA", "CB", "CC"],
            "TRB_CDR3": ["CD", "CD", "CE", "CF"],
            "Label": ["1", "-1", "-1", "1"],
            "score": [0.1, 0.5, 0.3, 0.9],
        }
    )
    # Joined, the first two are 1: .1, -1: .1, 1: .5, -1: .5. Pairs: .1 (.5 of three), .5 (2.5), .9 (3).
    assert immrep22.micro_auc(rows) == pytest.approx((0.5 + 2.5 + 3) / 9)


def test_ranks_of_epitopes_are_those_of_the_challenge():
    scores = np.array([[3.0, 1.0, 2.0, 2.0], [np.nan, 1.0, np.nan, 2.0]])
    assert challenges.ranks(scores).tolist() == [[1, 4, 2.5, 2.5], [3.5, 2, 3.5, 1]]


def test_a_receptor_of_two_rows_has_one_rank():
    rows = pd.DataFrame({"TRA_CDR3": ["a", "a", "b"], "TRB_CDR3": ["c", "c", "d"], "true": ["A", "A", "A"]})
    ranks = np.array([[1.0], [1.0], [4.0]])
    assert immrep22.mean_rank(rows, ranks, ["A"])["A"] == 2.5


def test_missing_scores_are_below_all():
    assert challenges.with_lowest(np.array([2.0, np.nan, -1.0])).tolist() == [2, -2, -1]


def test_peers_are_compared_at_the_epitopes_that_they_have():
    own = pd.Series({"A": 0.75, "B": 0.5})
    peers = pd.DataFrame({"A": [0.5, 0.8], "B": [0.625, np.nan], "C": [1.0, 1.0]}, ["x", "y"])
    first, second, third = challenges.peer_rows(own, peers)
    assert (first["method"], first["mean"], first["own"], first["epitopes"]) == ("y", 0.8, 0.75, 1)
    assert (second["method"], second["mean"]) == ("airrvec", 0.625)
    assert (third["mean"], third["own"], third["peer_better"]) == (0.5625, 0.625, 1)
    assert (third["low"], third["high"]) == (-0.25, 0.125)
    lower = challenges.peer_rows(own, peers, lower_is_better=True)
    assert [row["method"] for row in lower] == ["x", "airrvec", "y"]
    assert lower[0]["peer_better"] == 1


def test_the_score_is_the_share_of_the_density_by_the_sum_of_distances(material):
    """Beside the rule written out, with vectors and TCRdist of the encoders."""
    from airrvec import encoders
    from airrvec.annotation.reference_set import build_reference_set

    columns = immrep22.COLUMNS
    training = immrep22.training_positives(material.immrep22 / "training_data", ["GILGFVFTL", "GLCTLVAML"])
    pairs = challenges.read_pairs(training, {**columns, "epitope": "epitope"})
    reference = build_reference_set(pairs.cells, pairs.receptors, chains="paired", species="homosapiens")
    test = immrep22.read(material.immrep22 / "true_set/NLVPMVATV.txt").iloc[:5]
    queries = challenges.read_pairs(test, columns).receptors
    scores = challenges.score_epitopes(reference, queries, ["GLCTLVAML", "unknown", "GILGFVFTL"])
    assert np.isnan(scores[:, 1]).all()

    import pyarrow as pa

    both = pa.concat_tables([t.select(schema.RECEPTORS.names) for t in (reference.receptors, queries)])
    vectors = encoders.load("sceptr").embed(both)
    parts = [cdist(vectors, vectors), encoders.load("tcrdist").distances(both, both).astype(float)]
    upper = np.triu_indices(len(both), 1)
    distances = (parts[0] + parts[1] * parts[0][upper].std() / parts[1][upper].std()) / 2
    density = np.exp(-distances[len(reference) :, : len(reference)] / 0.05)
    share = density @ reference.labels.toarray() / density.sum(axis=1, keepdims=True)
    assert reference.epitopes["epitope"].tolist() == ["GILGFVFTL", "GLCTLVAML"]
    np.testing.assert_allclose(scores[:, [2, 0]], 0.05 * np.log(share), rtol=1e-3, atol=1e-5)


def test_rejected_rows_have_no_receptor():
    names = list(immrep22.COLUMNS.values())
    good = dict(
        zip(names, ["TRAV27", "TRAJ42", "CAGAGSQGNLIF", "TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"], strict=True)
    )
    bad = {**good, "TRA_CDR3": "C?", "TRB_CDR3": "1"}
    pairs = challenges.read_pairs(pd.DataFrame([bad, good, good]), immrep22.COLUMNS)
    assert pairs.row.tolist() == [-1, 0, 0]
    assert pairs.clonotypes()[0] == ""
    assert len(set(pairs.clonotypes())) == 2


def test_the_viral_test_has_the_filters_of_its_downloader(tmp_path):
    receptor = dict.fromkeys(epytope_viral.COLUMNS.values(), "") | {
        epytope_viral.ALPHA: "CAVF",
        epytope_viral.BETA: "CASSF",
    }
    rows = [{**receptor, "epitope": "GILGFVFTL_HLA-A*02:01"} for _ in range(6)]
    rows[1][epytope_viral.BETA] = "CASSY"
    rows[2][epytope_viral.ALPHA] = "C" + 18 * "A" + "F"
    rows[3][epytope_viral.BETA] = "CASSKNOWNF"
    rows += [{**receptor, "epitope": "TPRVTGGGAM"} for _ in range(6)]  # of ten residues
    rows += [{**receptor, "epitope": "GLCTLVAML"} for _ in range(4)]
    for name in ("data", "pp"):
        (tmp_path / "tcr_benchmark" / name).mkdir(parents=True)
    pd.DataFrame(rows).to_csv(tmp_path / "tcr_benchmark/data/a.csv")
    (tmp_path / "tcr_benchmark/pp/viralDownloader.py").write_text("x = 1\nOVERLAP_LIST = ['CASSKNOWNF']\n")
    test, n_rows = epytope_viral.read_test(tmp_path, ["a.csv"])
    assert n_rows == 16
    assert test["epitope"].tolist() == ["GILGFVFTL"] * 3


def test_the_notebooks_tables_are_read(material):
    published = epytope_viral.Published(material.epytope / "manuscript/Figure_viral.ipynb")
    assert tuple(published.epitopes) == challenge_stand_ins.EPITOPES
    assert dict(published.aucs.loc["MixTCRpred"]) == {
        "GILGFVFTL": 0.9,
        "GLCTLVAML": 0.4,
        "NLVPMVATV": 0.5,
    }
    assert list(published.predicted.loc["MixTCRpred"]) == [True, True, False]
    assert published.means["ERGO"]["R@1"] == "0.30"
    assert published.whole["MixTCRpred"]["R@1"] == "0.41"


def test_one_table_of_the_viral_test_measures_the_epitopes_that_it_has(material, tmp_path):
    words = [str(material.epytope), "--labelled", str(material.vdjdb), "--json", str(tmp_path / "a.json")]
    epytope_viral.main([*words, "--tables", epytope_viral.TABLES[0]])
    figures = json.loads((tmp_path / "a.json").read_text())["figures"]
    (row,) = figures["epitopes"]
    assert "airrvec" not in {row["method"] for row in figures["methods"]}
    assert not any(row["tool_first"] for row in figures["recall"])
    assert (row["epitope"], row["auroc"], row["rank"]) == ("GILGFVFTL", None, pytest.approx(1, abs=0.5))
    assert {row["receptors"] for row in figures["recall"] if row["test"] == "as published"} == {
        row["receptors"]
    }
