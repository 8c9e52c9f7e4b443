"""Input that no run can go on with, and words that must stay words."""

import pandas as pd
from conftest import ROOT, run_pipeline

PBMC = (ROOT / "assets/test/pbmc_b.csv").read_text()


def test_a_sample_of_b_cells_ends_the_run_with_a_clear_sentence(tmp_path):
    b_cells = PBMC.replace("TRA", "IGK").replace("TRB", "IGH")
    (tmp_path / "b_cells.csv").write_text(b_cells)
    (tmp_path / "samples.csv").write_text("sample,path\nb,b_cells.csv\n")
    run = run_pipeline(tmp_path, "--input", "samples.csv")
    assert run.status != 0
    assert "b: none of the 200 rows is an α or β chain of a T-cell receptor" in run.output
    assert not (run.results / "cells").exists()
    assert not (run.results / "embeddings").exists()
    assert "Traceback" not in run.output


def test_words_of_the_user_are_neither_run_nor_rendered(tmp_path):
    hostile = '<script>alert(1)</script>\'; touch owned; $(touch owned) `touch owned` \\ "" END_OF_METADATA'
    cell = '"' + hostile.replace('"', '""') + '"'
    (tmp_path / "t'a b$(touch owned).csv").write_text(PBMC)
    (tmp_path / "samples.csv").write_text(f"sample,path,note\nx,t'a b$(touch owned).csv,{cell}\n")
    labelled = pd.read_csv(ROOT / "assets/demo/dash_human.csv")
    labelled["epitope"] = labelled["epitope"].replace({"M1": "<img src=x onerror=alert(1)> $M_1$"})
    labelled.to_csv(tmp_path / "labelled.csv", index=False)
    run = run_pipeline(
        tmp_path,
        "--input", "samples.csv", "--labelled", "labelled.csv", "--encoders", "cdr3_levenshtein",
        "--benchmark_k", "1,5", "--benchmark_splits", "5", "--benchmark_min_positives", "50",
    )  # fmt: skip
    assert run.status == 0, run.output
    assert not list(tmp_path.rglob("owned"))
    cells = pd.read_parquet(run.results / "cells/x.parquet")
    assert set(cells["note"]) == {hostile}
    html = (run.results / "multiqc/multiqc_report.html").read_text()
    assert "<img src=x onerror" not in html
    assert "&lt;img src=x onerror" in html
