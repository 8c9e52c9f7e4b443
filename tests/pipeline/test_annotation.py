"""Annotation in the pipeline: what a sample hides is found with a reference of its own; what is refused."""

import gzip
import json

import pandas as pd
from conftest import ROOT, run_pipeline

from airrvec.core import schema, tables

PLAIN = ("--encoders", "cdr3_levenshtein", "--benchmark_k", "1")


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
        options = ("--input", "sheet.csv", "--annotate", "--background_receptors", "3000", "-resume")
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
