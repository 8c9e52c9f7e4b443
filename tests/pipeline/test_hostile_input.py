"""Input that no run can go on with, and words that must stay words."""

import gzip

import pandas as pd
from pipeline_runs import ROOT, run_pipeline

PBMC = (ROOT / "assets/test/pbmc_b.csv").read_text()


def test_samples_that_fail_are_told_in_one_message(tmp_path):
    """Before the first task that takes long, and without a traceback."""
    (tmp_path / "b_cells.csv").write_text(PBMC.replace("TRA", "IGK").replace("TRB", "IGH"))
    (tmp_path / "junk.csv").write_text("a,b\n1,2\n")
    for name in ("sample[1].tsv", "sample1.tsv", "$(touch owned).tsv"):
        (tmp_path / name).write_text(PBMC)
    (tmp_path / "samples.csv").write_text(
        "sample,path\nb,b_cells.csv\nj,junk.csv\nn,nowhere.csv\ng,sample[1].tsv\no,$(touch owned).tsv\n"
    )
    run = run_pipeline(tmp_path, "--input", "samples.csv")
    assert run.status == 1
    assert run.processes == {"CHECK_SAMPLES"}
    told = run.output.partition("5 problems in the input:\n")[2].splitlines()
    assert told[0].startswith("- samples.csv, row 1: b_cells.csv: none of the 200 rows is a chain")
    assert told[1].startswith("- samples.csv, row 2: junk.csv: its columns (a, b) match no known format")
    assert told[2] == "- samples.csv, row 3, column 'path': there is no file 'nowhere.csv'."
    assert told[3].startswith("- samples.csv, row 4, column 'path': the name of ")
    assert "sample[1].tsv' holds '[', which the shell of a task would read as a pattern" in told[3]
    assert "$(touch owned).tsv' holds '$'" in told[4]
    assert "--failed_samples" not in run.output  # no sample would be left
    assert not list(tmp_path.rglob("owned"))
    assert not (run.results / "cells").exists()
    assert "Traceback" not in run.output
    assert "Command error" not in run.output


def late_failures(folder) -> None:
    """Three tables whose beginning is good: damaged at the end, not UTF-8 there, most rows rejected."""
    header, *rows = PBMC.splitlines()
    packed = gzip.compress("\n".join([header, *rows * 500]).encode())
    (folder / "x.csv.gz").write_bytes(packed[:-20])
    text = "\n".join([header, *rows * 60, rows[0]]).encode()
    (folder / "y.csv").write_bytes(text[:-2] + b"\xff\n")
    bad = [row.replace("TRA", "IGK").replace("TRB", "IGH") for row in rows]
    (folder / "z.csv").write_text("\n".join([header, *rows * 20, *bad * 80]))
    (folder / "good.csv").write_text(PBMC)
    sheet = "sample,path,tissue\nx,x.csv.gz,t\ny,y.csv,t\ngood,good.csv,t\nz,z.csv,t\n"
    (folder / "samples.csv").write_text(sheet)


def test_failures_after_the_check_are_told_in_one_message(tmp_path):
    late_failures(tmp_path)
    run = run_pipeline(tmp_path, "--input", "samples.csv", "--max_rejected", "50")
    assert run.status == 1
    told = run.output.partition("3 tables could not be read:\n")[2].splitlines()
    assert told[0].startswith("- x.csv.gz: the compressed file is truncated or damaged.")
    assert told[1].startswith("- y.csv, row 12001")
    assert "not UTF-8 text" in told[1]
    assert told[2].startswith("- z: ")
    assert "more than the 50 % that --max_rejected allows" in told[2]
    assert told[3] == "To go on with the other samples, start again with --failed_samples skip -resume"
    assert "COLLECT_RECEPTORS" not in run.processes
    # With the tables from the cache, the run goes on without the three.
    more = ("--failed_samples", "skip", "--skip_map", "-resume")
    on = run_pipeline(tmp_path, "--input", "samples.csv", "--max_rejected", "50", *more)
    assert on.status == 0, on.output
    assert {task["status"] for task in on.tasks if "NORMALISE_RECEPTORS" in task["process"]} == {"CACHED"}
    lines = (on.results / "summary.txt").read_text().splitlines()
    assert lines[0] == "MISSING: 3 parts could not be made"
    assert [f"- {line.split(': ', 1)[1]}" for line in lines[1:4]] == told[:3]
    assert [line.split(":")[0] for line in lines[1:4]] == ["  Sample x", "  Sample y", "  Sample z"]
    assert lines[5].startswith("Sample ")
    assert [path.name for path in (on.results / "cells").iterdir()] == ["good.parquet"]
    html = (on.results / "multiqc/multiqc_report.html").read_text()
    assert 0 < html.index('id="airrvec_missing') < html.index('id="airrvec_samples')


def test_words_of_the_user_are_neither_run_nor_rendered(tmp_path):
    hostile = '<script>alert(1)</script>\'; touch owned; $(touch owned) `touch owned` \\ "" END_OF_METADATA'
    cell = '"' + hostile.replace('"', '""') + '"'
    (tmp_path / "t'a b(touch owned);`touch owned`.csv").write_text(PBMC)
    (tmp_path / "samples.csv").write_text(
        f"sample,path,note\nx,t'a b(touch owned);`touch owned`.csv,{cell}\n"
    )
    labelled = pd.read_csv(ROOT / "assets/demo/dash_human.csv")
    formula = "=HYPERLINK(1)\x1b[2J"
    labelled["epitope"] = labelled["epitope"].replace(
        {"M1": "<img src=x onerror=alert(1)> $M_1$", "pp65": formula}
    )
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
    # Neither a terminal nor a spreadsheet obeys them; Parquet holds them.
    summary = (run.results / "summary.txt").read_text()
    assert "=HYPERLINK(1)\\x1b[2J" in summary
    assert "\x1b[2J" not in summary + run.output
    labels = pd.read_parquet(run.results / "cells/labelled.parquet")["epitope"]
    assert formula in set(labels)
    texts = [path for path in run.results.rglob("*.tsv") if "pipeline_info" not in path.parts]
    cells = [cell for path in texts for line in path.read_text().splitlines() for cell in line.split("\t")]
    assert "'=HYPERLINK(1)\\x1b[2J" in cells
    assert not [cell for cell in cells if "\x1b" in cell or cell.startswith("=")]
