"""What a change or a kill does to a run that is resumed."""

import os
import re
import signal
import subprocess
import time

import pandas as pd
from conftest import NEXTFLOW, ROOT, environment, run_pipeline


def statuses(run) -> set[str]:
    return {task["status"] for task in run.tasks}


def test_editing_the_library_reruns_what_imports_it(project_copy, tmp_path):
    args = ("-profile", "test", "-stub", "-resume")
    first = run_pipeline(tmp_path, *args, project=project_copy)
    assert first.status == 0, first.output
    assert statuses(run_pipeline(tmp_path, *args, project=project_copy)) == {"CACHED"}
    with (project_copy / "bin/airrvec/input/germline.py").open("a") as library:
        library.write("\n# an edit\n")
    assert statuses(run_pipeline(tmp_path, *args, project=project_copy)) == {"COMPLETED"}


def test_adding_a_sample_reruns_no_other(tmp_path):
    header, first, second = (ROOT / "assets/test/samplesheet.csv").read_text().splitlines()
    assets = ROOT / "assets/test"
    sheet = tmp_path / "sheet.csv"

    def run(*rows):
        sheet.write_text("\n".join([header, *rows]).replace(",pbmc", f",{assets}/pbmc") + "\n")
        return run_pipeline(tmp_path, "--input", str(sheet), "-stub", "-resume")

    assert run(first).status == 0
    both = run(first, second)
    normalised = {t["name"]: t["status"] for t in both.tasks if "NORMALISE" in t["name"]}
    assert normalised == {
        "AIRRVEC:NORMALISE:NORMALISE_RECEPTORS (a)": "CACHED",
        "AIRRVEC:NORMALISE:NORMALISE_RECEPTORS (b)": "COMPLETED",
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
