"""A part that cannot be made ends nothing else: the report and the summary begin with it."""

import re

import pandas as pd
from pipeline_runs import ROOT, run_pipeline

PBMC = ROOT / "assets/test/pbmc_b.csv"
TOO_FEW = "no epitope has enough receptors"


def test_a_part_that_fails_costs_no_other(tmp_path):
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{PBMC}\n")
    lines = (ROOT / "assets/demo/dash_human.csv").read_text().splitlines(keepends=True)
    (tmp_path / "labelled.csv").write_text("".join(lines[:31]))
    (tmp_path / "fails.config").write_text(
        "process { withName: 'EXPORT_AIRR|HANDOVER' { beforeScript = 'exit 3' } }\n"
    )
    args = ("--input", "samples.csv", "--labelled", "labelled.csv", "--encoders", "random,cdr3_levenshtein")
    args += ("--export_airr", "--analyses", "distances", "--handover", "-resume")

    run = run_pipeline(tmp_path, *args, "-c", "fails.config")
    assert run.status == 1, run.output
    summary = (run.results / "summary.txt").read_text()
    assert summary in run.output
    first, *missing = summary.split("\n\n")[0].splitlines()
    assert first == "MISSING: 1 part could not be made"
    assert len(missing) == 1
    assert missing[0].startswith(f"  Benchmark cdr3_levenshtein, random: {TOO_FEW}; the most has ")
    report = (run.results / "multiqc/multiqc_report.html").read_text()
    assert "Missing from this run" in report
    assert TOO_FEW in re.sub("<[^>]+>", "", report)  # a word of it is explained
    for name in ("cells/b.parquet", "embeddings/sceptr.parquet", "map/map.parquet"):
        assert len(pd.read_parquet(run.results / name)) > 50
    assert not (run.results / "airr").exists()
    # The report was made before.
    reason = "its task failed, for the reason in .nextflow.log. Run again with -resume to try it again.\n"
    late = "MISSING: 2 parts could not be made after the report\n"
    late += f"  Export b.tsv, labelled.tsv: {reason}  Handover all_samples: {reason}"
    assert late in run.output
    record = run.results / "pipeline_info/missing_after_report.txt"
    assert record.read_text() == late
    assert {path.name for path in (run.results / "handover").iterdir()} == {"map.html", "report.html"}
    assert not (run.results / "benchmark").exists()
    assert len(pd.read_parquet(run.results / "analyses/distances.parquet")) > 0

    mended = run_pipeline(tmp_path, *args)
    assert mended.status == 0, mended.output
    ran = {task["process"].split(":")[-1] for task in mended.tasks if task["status"] == "COMPLETED"}
    assert ran == {"EXPORT_AIRR", "HANDOVER"}
    assert "MISSING: 1 part could not be made\n  Benchmark cdr3_levenshtein, random: " in mended.output
    assert len(pd.read_csv(mended.results / "airr/b.tsv", sep="\t")) > 50
    assert not record.exists()
    assert (mended.results / "handover/summary.pdf").stat().st_size > 10_000


def test_a_lack_of_r_is_told_before_the_first_sample_is_read(tmp_path):
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{PBMC}\n")
    lacking = tmp_path / "bin/Rscript"
    lacking.parent.mkdir()
    lacking.write_text("#!/bin/sh\necho 'ERROR: R lacks the package(s) SingleCellExperiment.' >&2\nexit 1\n")
    lacking.chmod(0o755)
    (tmp_path / "r.config").write_text(f"env.PATH = '{lacking.parent}:$PATH'\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--export_sce", "-c", "r.config")
    assert run.status == 1, run.output
    assert "R lacks the package(s) SingleCellExperiment" in run.output
    assert run.processes <= {"CHECK_R", "CHECK_SAMPLES"}
    assert not (run.results / "cells").exists()


def test_exports_do_without_calls_and_clusters_that_fail(tmp_path):
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{PBMC}\n")
    failing = "withName: 'ANNOTATE_RECEPTORS|CLUSTER_RECEPTORS' { beforeScript = 'exit 3' }"
    (tmp_path / "fails.config").write_text(f"process {{ {failing} }}\n")
    args = ("--input", "samples.csv", "--labelled", str(ROOT / "assets/demo/dash_human.csv"), "--annotate")
    run = run_pipeline(
        tmp_path,
        *args,
        "--cluster",
        "--export_anndata",
        "-c",
        "fails.config",
        "-stub",
        "--encoders",
        "random",
    )
    assert run.status == 1, run.output
    failed = {task["process"].split(":")[-1] for task in run.tasks if task["status"] == "FAILED"}
    assert failed == {"ANNOTATE_RECEPTORS", "CLUSTER_RECEPTORS"}
    exported = {path.name for path in (run.results / "anndata").iterdir()}
    assert exported == {"b.h5ad", "labelled.h5ad", "all_samples.h5ad"}
