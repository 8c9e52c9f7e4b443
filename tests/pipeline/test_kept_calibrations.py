"""A reference is normalised, merged and calibrated once: later runs take all of it, with the same results."""

import shutil
from pathlib import Path

import pandas as pd
from pipeline_runs import ROOT, differences, digests, run_pipeline


def test_a_second_run_takes_the_calibration_of_the_first(tmp_path):
    dash = pd.read_csv(ROOT / "assets/demo/dash_human.csv")
    dash.groupby("epitope").head(5).drop(columns="epitope").to_csv(tmp_path / "hidden.csv", index=False)
    (tmp_path / "sheet.csv").write_text("sample,path,format\nhidden,hidden.csv,tcrdist\n")
    kept = tmp_path / "kept by $(touch CANARY) 'all' runs"
    args = ("--annotate", "--reference", str(ROOT / "assets/demo/dash_human.csv"), "--skip_map")
    args = (*args, "--input", str(tmp_path / "sheet.csv"), "--background_receptors", "1500")
    runs, said = [], []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        run = run_pipeline(tmp_path / name, *args, "--calibrations", str(kept))
        assert run.status == 0, run.output
        assert run.warnings == []
        runs.append(run)
        errors = [path.read_text().splitlines() for path in run.folder.glob("work/*/*/.command.err")]
        said.append({line for lines in errors for line in lines if " taken from " in line})
    assert said[0] == set()
    kinds = {line.split(":")[0] for line in said[1]}
    assert kinds == {"normalised reference", "merged reference", "calibration"}
    taken = {Path(line.split(" taken from ")[1]) for line in said[1]}
    (vectors,) = {*kept.glob("*.tar.zst")} - taken  # of the background: another reference takes them
    assert taken < {*kept.glob("*.tar.zst")}
    (tmp_path / "third").mkdir()
    run = run_pipeline(tmp_path / "third", *args, "--calibrations", str(kept), "--annotation_fdr", "0.2")
    errors = [path.read_text() for path in run.folder.glob("work/*/*/.command.err")]
    assert [text for text in errors if f"vectors of the background: taken from {vectors}\n" in text]
    assert not [*tmp_path.rglob("CANARY")]
    assert differences(digests(runs[1].results), digests(runs[0].results)) == []

    # Where calibrations are kept is no reason to repeat a task, and none need be there.
    shutil.rmtree(kept)
    again = run_pipeline(tmp_path / "first", *args, "--calibrations", "none", "-resume")
    assert {task["status"] for task in again.tasks} == {"CACHED"}
