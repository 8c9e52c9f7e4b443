"""The command ``airrvec``."""

import argparse
import gzip
import json
import re
import shutil
import tomllib

from airrvec.app import cli, own_files, verb_files
from airrvec.app.verb_options import SETTINGS_OF_VERBS
from airrvec.app.verbs import benchmark, learn, work
from airrvec.core import tables

import pandas as pd
import pytest
from inputs import ROOT

LABELLED = ROOT / "assets/demo/dash_human.csv"

DEMO = ROOT / "assets/demo"
DONORS = [str(DEMO / f"donors/flu_{number}.csv") for number in (1, 2, 4)]


def test_annotate_calls_what_the_cells_were_sorted_by(tmp_path):
    reference, column_map = (str(DEMO / f"other_donors.{suffix}") for suffix in ("csv", "json"))
    options = ("--background-receptors", "3000", "--threads", "1", "--outdir", str(tmp_path))
    cli.main(["annotate", DONORS[2], "--reference", reference, "--column-map", column_map, *options])
    found = pd.read_parquet(tmp_path / "flu_4.parquet")
    called = found.loc[found["call"] == "called", "epitope"]
    assert len(found) == 31
    assert len(called) >= 10
    assert set(called) == {"M1"}


def test_annotate_calls_nothing_that_the_donor_cannot_present(tmp_path, capsys):
    reference, column_map = (str(DEMO / f"other_donors.{suffix}") for suffix in ("csv", "json"))
    options = ("--background-receptors", "3000", "--threads", "1", "--outdir", str(tmp_path))
    given = ("annotate", DONORS[2], "--reference", reference, "--column-map", column_map, *options)
    with pytest.raises(SystemExit):
        cli.main([*given, "--hla", "A2;who"])
    assert "--hla: 'who' is not an HLA allele" in capsys.readouterr().err
    cli.main([*given, "--hla", "A1;A3;B7"])
    found = pd.read_parquet(tmp_path / "flu_4.parquet")
    assert set(found["call"]) == {"no call"}
    assert (found["excluded_epitope"] == "M1").sum() >= 10


def test_annotate_refuses_a_reference_without_labels(tmp_path, capsys):
    pd.read_csv(DONORS[0]).drop(columns="epitope").to_csv(tmp_path / "plain.csv", index=False)
    given = ("annotate", DONORS[2], "--reference", tmp_path / "plain.csv", "--outdir", tmp_path / "out")
    with pytest.raises(SystemExit):
        cli.main([*map(str, given), "--background-receptors", "1000"])
    *_, said = capsys.readouterr().err.splitlines()
    assert said.startswith("ERROR: no row of the reference has an epitope. Give a table with labels")
    assert not (tmp_path / "out").exists()


def test_reference_merges_tables_that_annotate_takes_again(tmp_path):
    """Tables of other donors, and half of one once more: one folder, in place of the tables themselves."""
    rows = pd.read_csv(DEMO / "other_donors.csv").rename(columns={"subject": "reference_id"})
    rows.iloc[:120].to_csv(tmp_path / "one.csv", index=False)
    rows.iloc[80:].to_csv(tmp_path / "two.csv", index=False)
    given = [str(tmp_path / name) for name in ("one.csv", "two.csv")]
    cli.main(["reference", *given, "--outdir", str(tmp_path / "reference")])
    names = {path.name for path in (tmp_path / "reference").iterdir()}
    tables_written = {f"{name}.{kind}" for name in verb_files.MERGED for kind in ("parquet", "tsv")}
    assert names == tables_written | {"rejects", own_files.PLACE}
    sources = pd.read_parquet(tmp_path / "reference/sources.parquet").set_index("source")
    assert sources["rows"].to_dict() == {"one": 120, "two": len(rows) - 80}
    assert (
        sources["rows_merged"] + sources["rows_unlabelled"] + sources["rows_rejected"] == sources["rows"]
    ).all()
    found = {}
    options = ("--background-receptors", "3000", "--threads", "1", "--outdir")
    for name, reference in {"tables": ",".join(given), "folder": str(tmp_path / "reference")}.items():
        cli.main(["annotate", DONORS[2], "--reference", reference, *options, str(tmp_path / name)])
        found[name] = pd.read_parquet(tmp_path / name / "flu_4.parquet")
    pd.testing.assert_frame_equal(found["tables"], found["folder"])
    assert set(found["folder"].loc[found["folder"]["call"] == "called", "epitope"]) == {"M1"}


def test_cluster_finds_the_motif_of_m1(tmp_path):
    cli.main(["cluster", *DONORS[:2], "--threads", "1", "--outdir", str(tmp_path)])
    clusters = pd.read_parquet(tmp_path / "clusters.parquet")
    first = clusters.loc[clusters["n_receptors"].idxmax()]
    assert (first["tra_v_call"], first["trb_v_call"]) == ("TRAV27", "TRBV19")
    members = pd.read_parquet(tmp_path / "members.parquet")
    assert len(members) == 22 + 46


def test_embed_leaves_what_normalise_wrote(tmp_path):
    table = shutil.copy(DONORS[0], tmp_path)
    cli.main(["normalise", str(table), "--outdir", str(tmp_path)])
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    cli.main(["embed", str(table), "--out", str(tmp_path / "vectors.parquet"), "--threads", "1"])
    assert {name: (tmp_path / name).read_bytes() for name in written} == written
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.relative_to(tmp_path).as_posix() for path in files} - {own_files.LIST, own_files.LOCK}
    kinds = ("cells.parquet", "chains.parquet", "qc.json", "rejects.parquet")
    in_folder = {f"vectors_tables/flu_1.{kind}" for kind in kinds}
    assert names - written.keys() == {"vectors.parquet", "vectors.receptors.parquet"} | in_folder


def test_benchmark_and_finetune_of_a_labelled_table(tmp_path, capsys):
    few = (
        "--finetune-min-receptors",
        "50",
        "--finetune-split",
        "random",
        "--train-steps",
        "2",
        "--threads",
        "1",
    )
    cli.main(["finetune", str(LABELLED), *few, "--outdir", str(tmp_path / "tuned")])
    tuned = tmp_path / "tuned/neighbour"
    said = "".join(capsys.readouterr())
    order = ("contrast with", "V and J genes alone", "TCRdist alone", "TCRdist added", "average distance")
    places = [said.index(words) for words in order]
    assert places == sorted(places)
    few = (
        "--benchmark-k",
        "5",
        "--benchmark-splits",
        "2",
        "--benchmark-min-positives",
        "50",
        "--threads",
        "1",
        "--outdir",
        str(tmp_path),
    )
    cli.main(["benchmark", str(LABELLED), "--encoders", f"sceptr,{tuned}", *few])
    summary = pd.read_parquet(tmp_path / "auroc_summary.parquet")
    means = summary.query("rule == 'nearest_neighbour'").groupby("encoder")["auroc_mean"].mean()
    assert means.between(0.6, 1).all()
    assert means.index.tolist() == ["neighbour", "sceptr"]


def test_finetune_refuses_a_preset_that_ignores_labels_before_it_reads_the_table(tmp_path, capsys):
    with pytest.raises(SystemExit):
        cli.main(
            ["finetune", "nowhere.csv", "--finetune-preset", "base", "--outdir", str(tmp_path / "tuned")]
        )
    assert "the preset 'base' does not learn from labels" in capsys.readouterr().err


def parsed(*words) -> argparse.Namespace:
    return cli.parser().parse_args([str(word) for word in words])


def test_samples_of_a_samplesheet(tmp_path):
    (tmp_path / "a").mkdir()
    for name in ("a/b.csv", "c.csv", "d.csv"):
        shutil.copy(LABELLED, tmp_path / name)
    (tmp_path / "map.json").write_text(json.dumps({"trb_junction_aa": "cdr3_b_aa"}))
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(
        "sample,path,format,column_map,species,tissue\n"
        "p1,a/b.csv,tcrdist,,human,blood\np2,c.csv,,,,tumour\np3,d.csv,,map.json,,\n"
    )
    first, second, third = verb_files.samples(parsed("normalise", sheet, "--format", "tcrdist"))
    for table, name, path, tissue in ((first, "p1", "a/b.csv", "blood"), (second, "p2", "c.csv", "tumour")):
        assert (table.name, table.path, table.metadata) == (name, tmp_path / path, {"tissue": tissue})
        assert (table.format, table.column_map, table.species) == ("tcrdist", None, "homosapiens")
    assert (third.format, third.column_map, third.metadata) == (None, tmp_path / "map.json", {"tissue": None})


def test_a_samplesheet_cannot_write_elsewhere(tmp_path, capsys):
    """It is held to the pipeline's rules, and all that is broken is told at once."""
    shutil.copy(LABELLED, tmp_path / "t.csv")
    (tmp_path / "s.csv").write_text("sample,path,tissue\n../../escaped,t.csv,x\nb,t.csv\nc,nowhere.csv,\n")
    with pytest.raises(SystemExit):
        cli.main(["normalise", str(tmp_path / "s.csv"), "--outdir", str(tmp_path / "a/b/out")])
    error = capsys.readouterr().err
    assert "ERROR: 3 problems in the input:" in error
    assert "- s.csv, row 1, column 'sample': '../../escaped' may hold letters" in error
    assert "- s.csv, row 2: holds 2 cells, the header 3" in error
    assert "- s.csv, row 3, column 'path': there is no file 'nowhere.csv'" in error
    assert "Traceback" not in error
    assert {path.name for path in tmp_path.rglob("*")} == {"t.csv", "s.csv"}


def test_a_reserved_column_is_refused(tmp_path, capsys):
    shutil.copy(LABELLED, tmp_path / "t.csv")
    (tmp_path / "s.csv").write_text("sample,path,epitope\na,t.csv,x\n")
    with pytest.raises(SystemExit):
        cli.main(["normalise", str(tmp_path / "s.csv"), "--outdir", str(tmp_path / "out")])
    assert "s.csv: the column 'epitope' is one of airrvec's own" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_failed_samples_are_left_out_where_that_is_asked_for(tmp_path, capsys):
    """One at the look at its beginning, one by its rows; the columns of the others stay the same."""
    shutil.copy(LABELLED, tmp_path / "t.csv")
    (tmp_path / "junk.csv").write_text("a,b\n1,2\n")
    header, *rows = LABELLED.read_text().splitlines()
    late = tmp_path / "late.csv.gz"
    packed = gzip.compress("\n".join([header, *rows * 60]).encode())
    late.write_bytes(packed[:-20])
    (tmp_path / "s.csv").write_text("sample,path,x\na,t.csv,1\nj,junk.csv,\nl,late.csv.gz,\nb,t.csv,\n")
    out = tmp_path / "out"
    cli.main(["normalise", str(tmp_path / "s.csv"), "--failed-samples", "skip", "--outdir", str(out)])
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("MISSING: ")]
    assert len(told) == 2
    assert "s.csv, row 2: junk.csv: its columns (a, b) match no known format" in told[0]
    assert "late.csv.gz: the compressed file is truncated or damaged" in told[1]
    cells = [tables.read(out / f"{name}.cells.parquet") for name in ("a", "b")]
    assert cells[0].schema == cells[1].schema
    assert not list(out.glob("[jl].*"))
    with pytest.raises(SystemExit):
        cli.main(["normalise", str(tmp_path / "s.csv"), "--outdir", str(tmp_path / "other")])
    assert capsys.readouterr().err.endswith("\nTo go on with the other samples, add --failed_samples skip.\n")
    assert not (tmp_path / "other").exists()


def test_nothing_left_is_an_error(tmp_path, capsys):
    (tmp_path / "s.csv").write_text("sample,path\na,nowhere.csv\nb,nowhere.csv\n")
    with pytest.raises(SystemExit):
        cli.main(["normalise", str(tmp_path / "s.csv"), "--failed-samples", "skip"])
    err = capsys.readouterr().err
    assert "ERROR: 2 problems in the input:" in err
    assert "--failed_samples" not in err


def test_two_tables_of_one_name(tmp_path, capsys):
    for folder, name in (("a", "x.csv"), ("b", "X.csv")):
        (tmp_path / folder).mkdir()
        shutil.copy(LABELLED, tmp_path / folder / name)
    tables = [str(tmp_path / "a/x.csv"), str(tmp_path / "b/X.csv")]
    with pytest.raises(SystemExit):
        cli.main(["cluster", *tables, "--outdir", str(tmp_path / "out")])
    assert "two tables are called 'X'" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_condition_that_no_sample_has_ends_the_command_at_once(tmp_path, capsys):
    (tmp_path / "s.csv").write_text(f"sample,path,tissue\na,{LABELLED},x\n")
    with pytest.raises(SystemExit):
        cli.main(["compare", str(tmp_path / "s.csv"), "--compare-by", "stain"])
    assert "the samplesheet has no metadata column 'stain'; it has: tissue" in capsys.readouterr().err


def test_an_option_that_no_script_knows(capsys):
    with pytest.raises(SystemExit):
        cli.main(["embed", "x.tsv", "--out", "y", "--k", "3"])
    assert "unrecognized arguments: --k 3" in capsys.readouterr().err


SEEDED = ("calibrate_annotation", "cluster_receptors", "compare_samples", "benchmark_fewshot", "finetune")
TOGETHER = ("normalise_receptors", "collect_receptors", "embed_receptors", "count_clones")


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        ("annotate", ["normalise_receptors"] * 2 + ["calibrate_annotation", "annotate_receptors"]),
        (
            "cluster",
            [
                "normalise_receptors",
                "collect_receptors",
                "embed_receptors",
                "count_clones",
                "cluster_receptors",
            ],
        ),
        (
            "compare",
            [
                "normalise_receptors",
                "collect_receptors",
                "embed_receptors",
                "count_clones",
                "compare_samples",
                "describe_samples",
            ],
        ),
        ("reference", ["normalise_receptors", "merge_references"]),
        ("benchmark", ["normalise_receptors", *["benchmark_fewshot"] * 3, "summarise_fewshot"]),
        ("finetune", ["normalise_receptors", "finetune"]),
    ],
)
def test_every_script_of_a_verb_takes_its_options(verb, names, tmp_path, monkeypatch):
    """The scripts' own parsers read what the verb gives them; further options reach the script."""
    called = []

    def run(name, *argv):
        work.script(name).parse_args([str(word) for word in argv])
        called.append((name, [str(word) for word in argv]))

    monkeypatch.setattr(work, "run", run)
    monkeypatch.setattr(verb_files, "publish", lambda *_: None)
    monkeypatch.setattr(benchmark, "auroc_lines", lambda *_: [])
    monkeypatch.setattr(learn.finetuning, "read_finetuning", lambda *_: "measured")
    monkeypatch.setattr(learn.finetuning, "finetuning_lines", lambda *_: [])
    more = ["--reference", "r.tsv"] if verb == "annotate" else []
    more += ["--seed", "7"] if "seed" in SETTINGS_OF_VERBS[verb] else []
    cli.main([verb, str(LABELLED), *more, "--outdir", str(tmp_path)])
    assert [name for name, _ in called] == names
    assert max(argv.count("--species") for _, argv in called) == 1
    with_seed = [name for name, argv in called if "--seed" in argv and argv[argv.index("--seed") + 1] == "7"]
    assert with_seed == [name for name in names if name in SEEDED]


def test_a_wheel_holds_the_scripts():
    """Those of all verbs, and the presets, in the folders that `commands` looks into once installed."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    text = "".join(path.read_text() for path in (ROOT / "bin/airrvec/app/verbs").glob("*.py"))
    named = set(re.findall(r'run\(\s*"(\w+)"', text))
    scripts = {f"bin/{name}.py": f"airrvec/scripts/{name}.py" for name in named}
    assert wheel["force-include"] == {"conf/models": "airrvec/models", **scripts}
