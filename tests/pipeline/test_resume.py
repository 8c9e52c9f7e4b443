"""What a change or a kill does to a run that is resumed."""

import os
import re
import signal
import subprocess
import time

import pandas as pd
from pipeline_runs import NEXTFLOW, ROOT, environment, run_pipeline


def statuses(run) -> set[str]:
    return {task["status"] for task in run.tasks}


def test_an_edit_of_the_library_reruns_what_imports_its_package(project_copy, tmp_path):
    args = ("-profile", "test", "-stub", "-resume")

    def processes(status: str) -> set[str]:
        run = run_pipeline(tmp_path, *args, project=project_copy)
        assert run.status == 0, run.output
        return {task["process"].split(":")[-1] for task in run.tasks if task["status"] == status}

    def edit(module: str) -> None:
        with (project_copy / "bin/airrvec" / module).open("a") as source:
            source.write("\n# an edit\n")

    everything = processes("COMPLETED")
    edit("report/page.py")
    assert processes("COMPLETED") == {"REPORT", "RENDER_REPORT", "HANDOVER"}
    edit("model/tokens.py")
    assert processes("CACHED") == {"CHECK_SAMPLES", "NORMALISE_RECEPTORS", "EXPORT_AIRR"}
    edit("input/germline.py")
    assert processes("COMPLETED") == everything


def test_adding_a_sample_reruns_no_other(tmp_path):
    """Tables of more than 2 MB do not share a task of 4."""
    header, *rows = (ROOT / "assets/test/pbmc_b.csv").read_text().splitlines()
    copies = range(1 + 2_000_000 // sum(map(len, rows)))
    table = [header, *(row.replace(row[:18], f"{row[:17]}{copy}") for copy in copies for row in rows)]
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("\n".join(table) + "\n")

    def run(*names):
        lines = ["sample,path", *(f"{name},{name}.csv" for name in names)]
        (tmp_path / "sheet.csv").write_text("\n".join(lines) + "\n")
        return run_pipeline(tmp_path, "--input", "sheet.csv", "-stub", "-resume")

    assert run("a").status == 0
    both = run("a", "b")
    assert both.status == 0, both.output
    normalised = {t["name"]: t["status"] for t in both.tasks if "NORMALISE_RECEPTORS" in t["name"]}
    assert normalised == {
        "NORMALISE:NORMALISE_RECEPTORS (a)": "CACHED",
        "NORMALISE:NORMALISE_RECEPTORS (b)": "COMPLETED",
    }


def test_a_killed_run_resumes_and_ends_the_same(tmp_path, real_run):
    command = [NEXTFLOW, "run", ROOT, "-profile", "test", "--outdir", tmp_path / "results"]
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    log = tmp_path / ".nextflow.log"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if log.exists() and re.search(r"COLLECT_RECEPTORS.*; status: COMPLETED", log.read_text()):
            break
        assert process.poll() is None
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    resumed = run_pipeline(tmp_path, "-profile", "test", "-resume")
    assert resumed.status == 0, resumed.output
    assert "CACHED" in statuses(resumed)
    for name in ("embeddings/sceptr.parquet", "benchmark/auroc.parquet"):
        pd.testing.assert_frame_equal(
            pd.read_parquet(resumed.results / name), pd.read_parquet(real_run.results / name)
        )
