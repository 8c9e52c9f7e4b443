"""The verbs ``index`` and ``find``, on runs made by the scripts."""

from functools import partial
from pathlib import Path

from airrvec.app import cli
from airrvec.core import chains, schema, tables
from airrvec.encoders.sceptr import Sceptr
from airrvec.search import store
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from finished_runs import BACKGROUND, FLU, WORDS, found, problem, write_run
from inputs import DATA
from scipy.spatial.distance import cdist


def receptors_of(results: Path, chain_class: str):
    """The human receptors that have the chains of a class, with these chains alone."""
    receptors = tables.read(results / "receptors/receptors.parquet", schema.RECEPTORS.names)
    human = receptors.filter(pc.equal(receptors["species"], "homosapiens"))
    return chains.with_chains(human, chain_class)


@pytest.mark.parametrize("chain_class", ["paired", "alpha", "beta"])
def test_answers_are_those_of_all_distances(runs, made, tmp_path, chain_class):
    """Of the chains that are compared, embedded again, over both runs."""
    result = found(made, tmp_path / "out.parquet", FLU["flu_1"], "--chains", chain_class, "--k", 5)
    encoder = Sceptr("sceptr")
    references = [receptors_of(results, chain_class) for results in runs.values()]
    vectors = np.concatenate([encoder.embed(part) for part in references])
    ids = np.concatenate([part["receptor_id"].to_numpy() for part in references])
    (queries,) = (pd.read_csv(FLU["flu_1"]),)
    assert len(result) == 5 * len(queries)
    place = {receptor: row for row, receptor in enumerate(ids)}
    asked = result[result["rank"] == 1]
    assert (asked["distance"] == 0).all()  # each is a receptor of the first run itself
    own = vectors[[place[receptor] for receptor in asked["receptor_id"]]]
    expected = np.sort(cdist(own, vectors), axis=1)[:, :5]
    assert result["distance"].to_numpy().reshape(-1, 5) == pytest.approx(expected, abs=1e-5)
    background = chains.on_chains(synthesise(BACKGROUND, seed=420), chain_class)
    near = (cdist(own, encoder.embed(background))[:, None] <= expected[:, :, None] + 1e-6).sum(axis=2)
    assert np.array_equal(result["n_background"].to_numpy().reshape(-1, 5), near)
    assert result["n_expected"].to_numpy() == pytest.approx(near.ravel() * len(vectors) / BACKGROUND)
    assert set(result["chains"]) == {chain_class}


def test_samples_metadata_and_labels_of_what_is_found(runs, made, tmp_path):
    result = found(made, tmp_path / "out.parquet", DATA / "vdjdb_full.tsv", "--k", 1).set_index("query_row")
    cells = pd.read_parquet(runs["other"] / "cells/labelled.parquet")
    answered = cells[cells["species"].isin(["homosapiens", "musmusculus"])]
    assert len(result) == len(answered)
    assert (result["distance"] == 0).all()
    same = result["receptor_id"].to_numpy() == answered["receptor_id"].to_numpy()
    assert same.all()
    for epitope, labels in zip(answered["epitope"], result["epitope"], strict=True):
        assert epitope in labels.split("; ")
    assert set(result["samples"]) == {"labelled"}
    flu = found(made, tmp_path / "flu.parquet", FLU["flu_2"], "--k", 1)
    assert set(flu["metadata"]) >= {"age=31; sex=f"}
    assert set(flu["run"]) == {str(runs["flu"].resolve())}
    assert flu["n_cells"].min() >= 1


def test_one_receptor_is_a_table_on_the_terminal(made, capsys):
    cli.main(["find", "TRBV19", "CASSIRSSYEQYF", "--index", str(made), "--k", "3"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("no α · TRBV19 CASSIRSSYEQYF ? (")
    assert lines[0].endswith("β chains alone)")
    assert lines[1].split()[:4] == ["rank", "distance", "by", "chance"]
    assert lines[2].split()[:2] == ["1", "0.000"]
    assert WORDS in lines[2]
    assert "flu_" in lines[2]
    assert len(lines) == 6


def test_all_within_a_radius(made, tmp_path):
    near = found(made, tmp_path / "near.parquet", FLU["flu_1"], "--radius", 0.5)
    most = found(made, tmp_path / "most.parquet", FLU["flu_1"], "--k", 500)
    expected = most[most["distance"] <= 0.5]
    for name in ("query_row", "rank", "distance", "receptor_id", "n_background"):
        assert np.array_equal(near[name], expected[name])
    assert most.groupby("query_row")["n_background"].max().max() <= BACKGROUND


def test_threads_change_nothing(made, tmp_path):
    for n in ("1", "2"):
        given = (
            "find",
            str(FLU["flu_1"]),
            "--index",
            str(made),
            "--threads",
            n,
            "--out",
            str(tmp_path / f"{n}.tsv"),
        )
        cli.main([*given])
    assert (tmp_path / "1.tsv").read_bytes() == (tmp_path / "2.tsv").read_bytes()


@pytest.mark.parametrize(
    "name", ["10x.csv", "vdjdb_full.tsv", "airr_bulk.tsv", "sceptr.parquet", "scirpy.h5ad"]
)
def test_every_query_has_an_answer_or_a_reason(made, tmp_path, name):
    result = found(made, tmp_path / "out.parquet", DATA / name, "--k", 2)
    rejects = pd.read_parquet(tmp_path / "out.rejects.parquet")
    cli.main(["normalise", str(DATA / name), "--outdir", str(tmp_path)])
    stem = name.split(".")[0]
    cells = pd.read_parquet(tmp_path / f"{stem}.cells.parquet")
    refused = pd.read_parquet(tmp_path / f"{stem}.rejects.parquet")
    told = rejects[
        rejects["reason"].str.contains("the index holds no") | rejects["reason"].str.contains("read its")
    ]
    assert result["query_row"].nunique() == len(cells) - len(told)
    assert result.groupby("query_row").size().max() == 2
    assert len(rejects) == len(refused) + len(told)
    assert rejects["reason"].notna().all()


def test_a_run_that_is_not_indexed_is_searched_as_well(runs, tmp_path):
    direct = found(runs["flu"], tmp_path / "direct.parquet", FLU["flu_1"], "--k", 3)
    cli.main(["index", str(runs["flu"]), "--index", str(tmp_path / "i"), "--background", "300"])
    indexed = found(tmp_path / "i", tmp_path / "indexed.parquet", FLU["flu_1"], "--k", 3)
    for name in ("query_row", "rank", "distance", "receptor_id", "samples", "run"):
        assert np.array_equal(direct[name], indexed[name])


def test_words_without_an_answer_end_with_the_reason(tmp_path, capsys):
    only_beta = write_run(tmp_path / "beta", {"bulk": DATA / "tcrdist_beta.csv"})
    said = problem(capsys, "find", "TRAV27 CAGGGSQGNLIF", "--index", only_beta)
    assert "the index holds no receptors of homosapiens with α chains alone" in said
    said = problem(capsys, "find", WORDS, "--index", only_beta, "--radius", "0")
    assert ": no receptor is within 0" in said
    said = problem(capsys, "find", WORDS, "--index", only_beta, "--chains", "paired")
    assert "it lacks a chain" in said
    said = problem(capsys, "find", WORDS, "--index", tmp_path / "nothing")
    assert "there is no index in" in said
    said = problem(capsys, "find", WORDS, "--index", only_beta, "--k", "0")
    assert "k is 0, and must be a whole number from 1 on" in said


@pytest.mark.parametrize("n", [13, 300])
def test_words_may_be_longer_than_the_name_of_a_file(made, capsys, n):
    words = " ".join([WORDS] * n)
    assert len(words) > 255
    assert f"there are {n} junctions" in problem(capsys, "find", words, "--index", made)
    assert "is no gene and no junction" in problem(capsys, "find", "A\nB" * 200 + "1", "--index", made)


def test_more_neighbours_than_there_are_receptors(made, tmp_path):
    most = found(made, tmp_path / "most.parquet", WORDS, "--k", 10**9)
    assert most.equals(found(made, tmp_path / "all.parquet", WORDS, "--k", 5_000))
    assert most["rank"].tolist() == list(range(1, len(most) + 1))
    assert most["receptor_id"].nunique() == len(most) > 70


def test_too_many_neighbours_of_all_queries_are_refused(made, capsys, monkeypatch):
    monkeypatch.setattr(store, "MOST_PAIRS", 1_000)
    said = problem(capsys, "find", FLU["flu_1"], "--index", made, "--k", 10**9)
    assert "are more than 1,000. Choose a smaller k" in said


@pytest.mark.parametrize("suffix", ["parquet", "tsv", "csv"])
def test_the_suffix_decides_the_format(made, tmp_path, suffix):
    out = tmp_path / f"near.{suffix}"
    cli.main(["find", str(DATA / "10x.csv"), "--index", str(made), "--k", "2", "--out", str(out)])
    expected = found(made, tmp_path / "expected.parquet", DATA / "10x.csv", "--k", 2)
    read = {"parquet": pd.read_parquet, "csv": pd.read_csv, "tsv": partial(pd.read_csv, sep="\t")}[suffix]
    same = partial(pd.testing.assert_frame_equal, check_dtype=False)
    same(read(out).convert_dtypes(), expected.convert_dtypes())
    rejects = read(tmp_path / f"near.rejects.{suffix}")
    same(rejects.convert_dtypes(), pd.read_parquet(tmp_path / "expected.rejects.parquet").convert_dtypes())


@pytest.mark.parametrize("name", ["near.xlsx", "near", "near.tsv.gz", "near.TSV", ".tsv"])
def test_an_unknown_suffix_is_refused(made, tmp_path, capsys, name):
    said = problem(capsys, "find", WORDS, "--index", made, "--out", tmp_path / name)
    assert f"'{tmp_path / name}' ends in none of .parquet, .tsv, .csv" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_as_out_is_refused(made, tmp_path, capsys):
    (tmp_path / "near.tsv").mkdir()
    said = problem(capsys, "find", WORDS, "--index", made, "--out", tmp_path / "near.tsv")
    assert "is a folder. Give a file" in said
    assert list((tmp_path / "near.tsv").iterdir()) == []
