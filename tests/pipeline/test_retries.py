"""Which failures of a task are worth another try."""

import csv

import pytest
from pipeline_runs import ROOT, run_pipeline

TABLE = ROOT / "tests/data/sceptr.tsv"


@pytest.mark.parametrize(("status", "attempts"), [(134, 1), (139, 1), (137, 3)])
def test_a_crash_over_a_table_is_not_tried_again_and_a_kill_for_memory_is(status, attempts, tmp_path):
    (tmp_path / "samples.csv").write_text(f"sample,path\na,{TABLE}\n")
    (tmp_path / "crash.config").write_text(
        f"process {{ withName: NORMALISE_RECEPTORS {{ beforeScript = 'exit {status}' }} }}\n"
    )
    run = run_pipeline(tmp_path, "--input", "samples.csv", "-c", "crash.config")
    assert run.status != 0
    trace = next(run.results.glob("pipeline_info/execution_trace*.txt"))
    with trace.open() as handle:
        tasks = [task for task in csv.DictReader(handle, delimiter="\t") if "NORMALISE" in task["name"]]
    assert [task["exit"] for task in tasks] == [str(status)] * attempts
