"""A calibration is made once: another run with the same reference takes it, and its results are the same."""

import shutil

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
        errors = [
            (path.parent / ".command.err").read_text()
            for path in run.folder.glob("work/*/*/.command.sh")
            if "calibrate_annotation.py" in path.read_text()
        ]
        said.append("".join(errors))
    (calibration,) = kept.glob("*.tar.zst")
    assert "taken from" not in said[0]
    assert said[1] == f"calibration: taken from {calibration}\n"
    assert not [*tmp_path.rglob("CANARY")]
    assert differences(digests(runs[1].results), digests(runs[0].results)) == []

    # Where calibrations are kept is no reason to repeat a task, and none need be there.
    shutil.rmtree(kept)
    again = run_pipeline(tmp_path / "first", *args, "--calibrations", "none", "-resume")
    assert {task["status"] for task in again.tasks} == {"CACHED"}
