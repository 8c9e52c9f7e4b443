"""Annotation in the pipeline: what a sample hides is found with a reference of its own; what is refused."""

import gzip
import json
import shutil

from airrvec.core import schema, tables

import pandas as pd
from pipeline_runs import ROOT, run_pipeline

PLAIN = ("--encoders", "cdr3_levenshtein", "--benchmark_k", "1")


def test_several_references_are_merged_into_one(tmp_path):
    """A folder, a URL and a row of the samplesheet; the second table repeats 20 rows of the first."""
    dash = pd.read_csv(ROOT / "assets/demo/dash_human.csv")
    hidden = dash.groupby("epitope").head(2)
    rest = dash.drop(hidden.index).sample(frac=1, random_state=0)
    parts = {"first": rest.iloc[:200], "second": rest.iloc[180:], "hidden": hidden.drop(columns="epitope")}
    for name, rows in parts.items():
        rows.to_csv(tmp_path / f"{name}.csv", index=False)
    (tmp_path / "tables").mkdir()
    shutil.move(tmp_path / "first.csv", tmp_path / "tables")
    (tmp_path / "tables/README.md").write_text("not a table")
    shutil.copy(ROOT / "tests/data/vdjdb_full.tsv", tmp_path)
    (tmp_path / "sheet.csv").write_text(
        "sample,path,role\nhidden,hidden.csv,\nvdjdb,vdjdb_full.tsv,reference\n"
    )
    run = run_pipeline(
        tmp_path,
        *("--input", "sheet.csv", "--annotate", "--skip_map"),
        *("--reference", f"tables, file://{tmp_path / 'second.csv'}"),
        *("--background_receptors", "1500"),
    )
    assert run.status == 0, run.output
    assert run.warnings == []
    assert "Report: " in run.output
    assert {"NORMALISE_REFERENCE", "MERGE_REFERENCES", "CALIBRATE_ANNOTATION"} <= run.processes
    folder = run.results / "annotation/reference"
    sources = tables.read(folder / "sources.parquet").to_pandas().set_index("source")
    assert sources["rows"].to_dict() == {"first": 200, "second": len(rest) - 180, "vdjdb_full": 5}
    parts = sources[["rows_rejected", "rows_unlabelled", "rows_merged"]]
    assert (parts.sum(axis=1) == sources["rows"]).all()
    merged = tables.read(folder / "merged.parquet").to_pandas()
    evidence = merged.drop_duplicates(["clonotype_id", "epitope"])["sources"]
    assert (evidence == "first;second").sum() == sources.loc["first", "shared_pairs"] >= 20
    assert sources["new_pairs"].sum() + evidence.str.contains(";").sum() == len(evidence)
    # Annotation compares with the merged reference; innate-like receptors are left out.
    used = tables.read(folder / "receptors.parquet").to_pandas()
    human = merged.query("species == 'homosapiens'")
    innate = human["tra_v_call"].str.startswith("TRAV1-2", na=False)
    assert set(used["receptor_id"]) >= set(human.loc[~innate, "receptor_id"])
    assert set(used["receptor_id"]) <= set(human["receptor_id"])
    assert {"first", "second"} < set(used["reference_id"])  # they name no studies
    assert {path.name for path in (folder / "rejects").iterdir()} == {
        *("first.parquet", "second.parquet", "vdjdb_full.parquet")
    }
    called = tables.read(run.results / "annotation/hidden.parquet").to_pandas()
    assert len(called) == len(hidden)
    assert set(called["nearest_1_epitope"]) <= set(merged["epitope"])


def test_receptors_hidden_in_a_sample_are_found(tmp_path):
    dash = pd.read_csv(ROOT / "assets/demo/dash_human.csv")
    hidden = dash.groupby("epitope").head(3)
    truth = hidden["epitope"]
    dash.drop(hidden.index).to_csv(tmp_path / "reference.csv", index=False)
    hidden.drop(columns="epitope").to_csv(tmp_path / "hidden.csv", index=False)
    with gzip.open(ROOT / "assets/test/pbmc_a.csv.gz", "rb") as pbmc:
        (tmp_path / "pbmc.csv").write_bytes(pbmc.read())
    (tmp_path / "sheet.csv").write_text(
        "sample,path,format,role\nhidden,hidden.csv,tcrdist,\npbmc,pbmc.csv,10x,sample\n"
        "others,reference.csv,tcrdist,reference\n"
    )
    run = run_pipeline(
        tmp_path,
        *("--input", "sheet.csv", "--annotate", "--background_receptors", "3000", "--annotation_fdr", "0.2"),
        "--skip_map",
    )
    assert run.status == 0, run.output
    assert run.warnings == []
    assert {"NORMALISE_REFERENCE", "CALIBRATE_ANNOTATION", "ANNOTATE_RECEPTORS"} <= run.processes
    hidden, pbmc = (
        tables.read(run.results / "annotation" / f"{name}.parquet") for name in ("hidden", "pbmc")
    )
    assert hidden.schema.equals(schema.ANNOTATION)
    cells = tables.read(run.results / "cells/pbmc.parquet")
    assert pbmc["cell_id"].equals(cells["cell_id"])
    # Some of the nine have near relatives among the references: they are surer than any of the sample's own.
    called = hidden.to_pandas().assign(truth=list(truth)).query("call == 'called'")
    assert len(called) >= 3
    assert list(called["epitope"]) == list(called["truth"])
    assert called["score"].min() > pbmc["score"].to_pandas().max()
    assert (pbmc["call"].to_pandas() == "called").mean() < 0.05
    qc = json.loads((run.results / "annotation/reference/calibration.qc.json").read_text())
    paired = next(group for group in qc["groups"] if group["chains"] == "paired")
    assert (paired["species"], paired["by_study"]) == ("homosapiens", False)
    sources = tables.read(run.results / "annotation/reference/sources.parquet").to_pylist()
    assert [(row["source"], row["rows"], row["rows_merged"]) for row in sources] == [
        ("reference", len(dash) - len(hidden), len(dash) - len(hidden))
    ]
    reference = tables.read(run.results / "annotation/reference/receptors.parquet")
    assert reference.schema.equals(schema.ANNOTATION_REFERENCE)
    for table in (hidden.to_pandas(), pbmc.to_pandas()):
        for chains, rows in table.groupby("chains"):
            known = set(reference[f"{chains}_id"].to_pylist())
            assert known >= {*rows["nearest_1_id"], *rows["nearest_3_id"]} - {None}
    report = (run.results / "multiqc/multiqc_report.html").read_text()
    assert "airrvec_annotation_counts" in report
    for call in called.itertuples():  # by name, so that the page's search finds it
        for name in (call.tra_junction_aa, call.trb_junction_aa, *call.nearest_1_receptor.split(" · ")):
            assert name in report


def test_the_hla_of_a_donor_excludes_epitopes(tmp_path):
    demo = ROOT / "assets/demo"
    rows = f"known,{demo}/donors/flu_4.csv,,,A2\nuntyped,{demo}/donors/flu_4.csv,,,\n"
    others = f"others,{demo}/other_donors.csv,reference,{demo}/other_donors.json,\n"

    def run(hla: str):
        foreign = f"foreign,{demo}/donors/flu_4.csv,,,{hla}\n"
        (tmp_path / "sheet.csv").write_text(f"sample,path,role,column_map,hla\n{foreign}{rows}{others}")
        options = ("--input", "sheet.csv", "--annotate", "--background_receptors", "3000")
        options += ("--skip_map", "-resume")
        return run_pipeline(tmp_path, *options)

    def called(run, name: str):
        table = tables.read(run.results / "annotation" / f"{name}.parquet").to_pandas()
        return table[["cell_id", "call", "epitope", "excluded_epitope"]]

    refused = run("A*02:01;$(touch hit)")
    assert refused.status != 0
    assert "sheet.csv, row 1, column 'hla': '$(touch' is not an HLA allele" in refused.output
    first = run("A*01:01;A*24:02")
    assert (first.status, first.warnings) == (0, []), first.output
    assert list(tmp_path.rglob("hit")) == []
    foreign, known, untyped = (called(first, name) for name in ("foreign", "known", "untyped"))
    pd.testing.assert_frame_equal(known, untyped)
    assert (known["epitope"] == "M1").sum() >= 10
    assert set(foreign["call"]) == {"no call"}
    assert foreign["excluded_epitope"].equals(known["epitope"].rename("excluded_epitope"))
    path = next((tmp_path / "work").rglob("foreign.annotation.qc.json"))
    qc = json.loads(path.read_text())
    assert (qc["hla"], qc["excluded"]) == ("A*01:01;A*24:02", {"M1": int((known["epitope"] == "M1").sum())})
    # Another typing repeats the annotation, and no task before it.
    second = run("A*02:01")
    assert second.status == 0, second.output
    repeated = {task["process"].split(":")[-1] for task in second.tasks if task["status"] == "COMPLETED"}
    assert {"CHECK_SAMPLES", "ANNOTATE_RECEPTORS", "REPORT"} <= repeated
    assert not repeated & {"NORMALISE_RECEPTORS", "CALIBRATE_ANNOTATION", "EMBED_RECEPTORS"}
    pd.testing.assert_frame_equal(called(second, "foreign"), untyped)
