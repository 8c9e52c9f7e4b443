"""The scripts of the few-shot benchmark: settings, what could not be measured, and joining encoders."""

import json
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.core.seeds import short_hash
from airrvec.report.sections.benchmark import cautions
from airrvec.synthetic import synthesis
from airrvec.synthetic.background import negatives

import pyarrow as pa
import pytest
from inputs import ROOT, normalised
from labelled_studies import with_alleles
from sklearn.metrics import roc_auc_score

SMALL = ("--benchmark-k", "1,5", "--benchmark-splits", "4", "--benchmark-min-positives", "50")


@pytest.fixture
def labelled(tmp_path):
    """The demonstration's labelled receptors; every third cell is of the study `left out`."""
    table = normalised(ROOT / "assets/demo/dash_human.csv", sample_id="labelled")
    studies = ["left out" if row % 3 == 0 else f"study {row % 2}" for row in range(len(table.cells))]
    at = table.cells.schema.get_field_index("reference_id")
    cells = table.cells.set_column(at, "reference_id", pa.array(studies))
    tables.write(cells, tmp_path / "cells.parquet")
    tables.write(table.receptors, tmp_path / "receptors.parquet")
    return ("--cells", tmp_path / "cells.parquet", "--receptors", tmp_path / "receptors.parquet")


def summarise(script, *names):
    files = sorted(path for name in names for path in Path().glob(f"{name}.*"))
    script("summarise_fewshot", *files, "--encoders", ",".join(names))


def test_receptors_that_differ_in_alleles_are_counted_and_left_out_on_request(script, labelled):
    receptors = tables.read(labelled[3])
    cells = tables.read(labelled[1])
    again = with_alleles(receptors.slice(0, 100), "")
    twins = dict(zip(receptors["receptor_id"].to_pylist(), again["receptor_id"].to_pylist(), strict=False))
    ids = cells["receptor_id"].to_pylist()
    repeated = cells.filter(pa.array([name in twins for name in ids]))
    renamed = pa.array([twins[name] for name in ids if name in twins])
    repeated = repeated.set_column(cells.column_names.index("receptor_id"), "receptor_id", renamed)
    tables.write(pa.concat_tables([receptors, again]), labelled[3])
    tables.write(pa.concat_tables([cells, repeated]), labelled[1])
    options = ("--encoder", "cdr3_levenshtein", "--benchmark-test-sets", "all,other_clonotypes")
    script("benchmark_fewshot", *labelled, *SMALL, *options)
    summarise(script, "cdr3_levenshtein")
    counts = json.loads(Path("benchmark.json").read_text())
    n = counts["receptors"] - counts["clonotypes"]
    assert n > 80
    (sentence,) = cautions(counts)
    assert sentence.startswith(f"{n} of the {counts['receptors']} receptors differ from another in alleles")
    means = tables.read("auroc.parquet").to_pandas().query("k > 1").groupby("test_set")["auroc"].mean()
    assert means["all"] > means["other_clonotypes"]


def test_every_setting_is_measured_on_the_same_splits(script, labelled):
    options = (
        "--benchmark-rules",
        "nearest_neighbour,contrast",
        "--benchmark-chains",
        "paired,beta",
        "--benchmark-test-sets",
        "all,below_80",
    )
    excluded = ("--exclude-references", "left out", "--benchmark-with-excluded")
    for name in ("cdr3_levenshtein", "tcrdist"):
        script("benchmark_fewshot", *labelled, *SMALL, *options, *excluded, "--encoder", name)
    summarise(script, "cdr3_levenshtein", "tcrdist")
    auroc = tables.read("auroc.parquet").to_pandas()
    assert auroc.groupby([*schema.SETTING]).ngroups == 2 * 2 * 2 * 2 * 2
    assert set(auroc["excluded"]) == {"left out", "none"}
    keys = ["rule", "chains", "test_set", "excluded", "epitope", "k", "split"]
    same = auroc.groupby(keys)[["n_positive", "n_negative"]].agg(["nunique", "size"])
    assert (same.xs("nunique", axis=1, level=1) == 1).all(axis=None)
    assert (same.xs("size", axis=1, level=1) == 2).all(axis=None)
    counts = json.loads(Path("benchmark.json").read_text())
    assert counts["with_excluded"]["receptors"] > counts["receptors"]
    digests = f"{counts['splits_digest']},{counts['with_excluded']['splits_digest']}"
    for name in ("auroc", "auroc_summary", "comparisons", "roc", "not_evaluated"):
        assert tables.metadata(f"{name}.parquet")["splits_digest"] == digests
    assert tables.arrow_schema("comparisons.parquet").equals(schema.COMPARISONS)
    assert set(tables.read("comparisons.parquet")["chains"].to_pylist()) == {"paired", "beta"}


def test_splits_and_scores_give_the_auroc_again(script, labelled):
    """By hand, for one epitope and k, from the published tables alone."""
    for name in ("cdr3_levenshtein", "tcrdist"):
        script("benchmark_fewshot", *labelled, *SMALL, "--benchmark-scores", "--encoder", name)
    summarise(script, "cdr3_levenshtein", "tcrdist")
    names = ("auroc", "splits", "benchmark_receptors", "scores")
    auroc, splits, receptors, scores = (tables.read(f"{name}.parquet").to_pandas() for name in names)
    assert tables.arrow_schema("scores.parquet").equals(schema.SCORES)
    keys = ["encoder", "rule", "chains", "excluded", "epitope", "k", "split"]
    scored, references_of = scores.groupby(keys), splits.groupby(["epitope", "k", "split"])
    assert {*scored.groups} == {*auroc.groupby(keys).groups}
    for values, row in [*auroc.groupby(keys)][::37]:
        part = scored.get_group(values)
        again = roc_auc_score(part["positive"], -part["score"])
        assert again == pytest.approx(row["auroc"].item(), abs=1e-6)
        epitope, k = values[4:6]
        references = references_of.get_group(values[4:])["receptor_id"]
        assert len(references) == k
        assert not {*references} & {*part["receptor_id"]}
        binders = receptors.loc[receptors["epitope"] == epitope, "receptor_id"]
        assert {*part.loc[part["positive"], "receptor_id"]} == {*binders} - {*references}
        if values[1] != "contrast":
            assert {*part["receptor_id"]} == {*receptors["receptor_id"]} - {*references}


def test_nothing_excluded_is_not_measured_twice(script, labelled):
    excluded = ("--exclude-references", "nowhere", "--benchmark-with-excluded")
    script("benchmark_fewshot", *labelled, *SMALL, *excluded, "--encoder", "cdr3_levenshtein")
    assert set(tables.read("cdr3_levenshtein.auroc.parquet")["excluded"].to_pylist()) == {"nowhere"}
    rows = tables.read("cdr3_levenshtein.not_evaluated.parquet").to_pylist()
    (row,) = [row for row in rows if row["excluded"] == "none"]
    assert row["reason"] == "no reference left out by 'nowhere' could be measured: the results are the same"


def test_an_encoder_that_sees_nothing_spoils_no_other(script, labelled):
    for name in ("sceptr_alpha_only", "cdr3_levenshtein"):
        script("benchmark_fewshot", *labelled, *SMALL, "--benchmark-chains", "beta", "--encoder", name)
    summarise(script, "sceptr_alpha_only", "cdr3_levenshtein")
    assert set(tables.read("auroc_summary.parquet")["encoder"].to_pylist()) == {"cdr3_levenshtein"}
    rows = tables.read("not_evaluated.parquet").to_pylist()
    (row,) = [row for row in rows if row["encoder"] == "sceptr_alpha_only"]
    assert (row["chains"], row["rule"]) == ("beta", None)
    with pytest.raises(SystemExit):
        summarise(script, "sceptr_alpha_only")


def test_the_background_is_complete_unlabelled_and_always_the_same(tmp_path):
    labelled = synthesis.synthesise(5, seed=420)  # OLGA's background would begin with these

    def drawn(path=None, species="homosapiens"):
        return negatives(path, species=species, seed=420, leave_out=labelled["clonotype_id"])

    found = drawn()
    assert len(found) == len(set(found["receptor_id"].to_pylist())) == 1000
    assert not set(found["receptor_id"].to_pylist()) & set(labelled["receptor_id"].to_pylist())
    assert all(found[name].null_count == 0 for name in schema.RECEPTOR_FIELDS)
    assert found.equals(drawn())
    own = synthesis.synthesise(1500, seed=1)
    tables.write(own, tmp_path / "receptors.parquet")
    for path in (tmp_path / "receptors.parquet", tmp_path):
        from_run = drawn(path)
        assert set(from_run["receptor_id"].to_pylist()) <= set(own["receptor_id"].to_pylist())
    tables.write(own.slice(0, 900), tmp_path / "few.parquet")
    with pytest.raises(InputError, match=r"few\.parquet: linear_svc needs 1000 unlabelled .* there are"):
        drawn(tmp_path / "few.parquet")
    tables.write(own.select(["receptor_id"]), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other\.parquet: this is not a table of receptors"):
        drawn(tmp_path / "other.parquet")
    mice = drawn(species="musmusculus")
    assert len(mice) == 1000
    assert set(mice["species"].to_pylist()) == {"musmusculus"}
    with pytest.raises(InputError, match="OLGA has no model of macacamulatta"):
        drawn(species="macacamulatta")


def test_a_hash_of_words_depends_on_their_order():
    assert short_hash(["a", "b"]) != short_hash(["b", "a"])


@pytest.mark.parametrize(
    ("option", "word", "message"),
    [
        (
            "--benchmark-rules",
            "nearest_neighbour,word",
            "--benchmark-rules is 'word', and must be nearest_neighbour, ",
        ),
        ("--benchmark-chains", "both", "--benchmark-chains is 'both', and must be paired, alpha or beta"),
        (
            "--benchmark-test-sets",
            "below_70",
            "--benchmark-test-sets is 'below_70', and must be all, below_90, below_80, other_clonotypes or ",
        ),
        (
            "--benchmark-k",
            "5,x",
            "--benchmark-k is '5,x', and must be whole numbers from 1 on, separated by commas",
        ),
        ("--benchmark-k", "0", "--benchmark-k is '0', and must be whole numbers from 1 on"),
    ],
)
def test_words_and_numbers_that_cannot_be_are_refused(option, word, message, script, labelled, capsys):
    with pytest.raises(SystemExit) as stop:
        script("benchmark_fewshot", *labelled, *SMALL, "--encoder", "cdr3_levenshtein", option, word)
    assert stop.value.code == 1
    assert f"ERROR: {message}" in capsys.readouterr().err


@pytest.mark.parametrize("ks", ["1,5,200", "200,5,1"])
def test_a_table_too_small_is_said_to_need_what_the_smallest_k_needs(ks, script, labelled, capsys):
    options = ("--encoder", "length", "--name", "x", "--benchmark-k", ks, "--benchmark-min-positives", 9_999)
    with pytest.raises(SystemExit):
        script("benchmark_fewshot", *labelled, *options)
    error = capsys.readouterr().err
    assert error.startswith("ERROR: no epitope has enough receptors; the most has M1: 232 receptors of 10000")
    assert " needed: 1 reference and 9999 to test. " in error
