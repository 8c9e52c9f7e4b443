"""One run at a time writes into a folder of results, and known failures end with advice."""

import json
import os
import re
import signal
import subprocess
import time

import pytest
from pipeline_runs import NEXTFLOW, ROOT, Run, environment, project_of, run_pipeline

PBMC = ROOT / "assets/test/pbmc_b.csv"

# Locks as other runs left them: what differs from a lock of this very process → words of a refusal, or None
# if the run takes over. Process 1 always lives; its start is what `locks.nf` writes by default.
LOCKS = {
    "alive": ({"process": "1"}, "another run writes into 'alive': run 'other', process 1 on "),
    "alive and of this session": ({"process": "1", "session": "same"}, "another run writes into "),
    "ended": ({"process": "4194303"}, None),
    "number given to another process": ({"process": "1", "since": "2001-01-01T00:00:00Z"}, None),
    "ended, of another user": ({"process": "4194303", "user": "somebody"}, "another run writes into "),
    "another machine": (
        {"process": "4194303", "machine": "m", "host": "node7"},
        "process 4194303 on node7, ",
    ),
    "another machine, this session": ({"process": "1", "machine": "m", "session": "same"}, None),
    "not written": ({}, None),
}

ENDED = """Error executing process > 'NORMALISE:NORMALISE_RECEPTORS (b)'

Caused by:
  Process `NORMALISE:NORMALISE_RECEPTORS (b)` terminated with an error exit status ({status})

Command error:
  {error}
"""
MEMORY = "`process { withName: 'NORMALISE_RECEPTORS' { memory = '16 GB' } }`"
# Exit status, error output → words of the advice.
FAILURES = [
    (137, "", f"the task most likely needed more memory than it may use: raise it with {MEMORY}"),
    (137, ".command.sh: line 3: 42 Killed  normalise.py", "process.resourceLimits if it is set"),
    (1, "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch", "needed more memory"),
    (1, "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 9 GiB", "needed more memory"),
    (1, "duckdb.OutOfMemoryException: Out of Memory Error: failed to allocate", "needed more memory"),
    (143, "", "the task was ended from outside (SIGTERM): its machine was reclaimed"),
    (143, "", "raise process.maxRetries and aws.batch.maxSpotAttempts or google.batch.maxSpotAttempts"),
    (140, "slurmstepd: error: *** JOB 7 CANCELLED DUE TO TIME LIMIT ***", "{ time = '24 h' }"),
    (1, "OSError: [Errno 28] No space left on device", "a disk is full, or your quota of it"),
    (137, "OSError: [Errno 28] No space left on device", "a disk is full, or your quota of it"),
    (1, "OSError: [Errno 122] Disk quota exceeded", "TMPDIR"),
    (1, "ImportError: libx.so: failed to map segment from shared object", "`ulimit -v unlimited`"),
    (127, "error while loading shared libraries: libz.so.1: cannot allocate memory", "`ulimit -v unlimited`"),
    (1, "PanicException: could not spawn threads: ThreadPoolBuildError", "`ulimit -u unlimited`"),
    (1, "OpenBLAS blas_thread_init: pthread_create failed for thread 1 of 2", "`ulimit -u unlimited`"),
    (
        1,
        "OpenBLAS error: Memory allocation still failed after 10 retries, giving up.",
        "`ulimit -v unlimited`",
    ),
    (1, "RuntimeError: can't start new thread", "`ulimit -u unlimited`"),
    (1, "airrvec: error: b.csv, row 3: there is no column 'cdr3'", None),
    (2, "", None),
]


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> Run:
    """One run for all cases, as the start of Nextflow takes longer than all of them."""
    folder = tmp_path_factory.mktemp("locks")
    locks = {name: {"run": "other", **given} if given else {} for name, (given, _) in LOCKS.items()}
    reports = [
        ENDED.replace("{status}", str(status)).replace("{error}", error) for status, error, _ in FAILURES
    ]
    (folder / "locks.json").write_text(json.dumps(locks))
    (folder / "failures.json").write_text(json.dumps(reports))
    cases = ("--locks", "locks.json", "--failures", "failures.json")
    run = run_pipeline(folder, *cases, project=project_of(folder, "locks.nf"))
    assert run.status == 0, run.output
    return run


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_taken_over_only_from_a_run_that_has_ended(said, name):
    found = {case[0]: case[1:] for case in map(json.loads, re.findall(r"^LOCK (.*)$", said.output, re.M))}
    refusal, taken, n_files = found[name]
    expected = LOCKS[name][1]
    assert taken == (expected is None)
    assert n_files == 1
    if expected is None:
        assert refusal is None
        taken_over = f"the run that was writing into '{name}' no longer runs, and this run takes over"
        assert taken_over in said.output
    else:
        assert expected in refusal
        path = said.folder / name / "pipeline_info/lock.txt"
        assert refusal.endswith(
            "Give this run another --outdir, or wait for the end of that one."
            f" If it no longer runs, start it again with -resume, or delete {path}"
        )


def test_locks_are_released_at_the_end_and_those_of_others_stay(said):
    left = {path.parents[1].name for path in said.folder.glob("*/pipeline_info/lock.txt")}
    assert left == {name for name, (_, refusal) in LOCKS.items() if refusal}


@pytest.mark.parametrize("number", range(len(FAILURES)))
def test_advice(said, number):
    advices = [json.loads(text)[0] for text in re.findall(r"^ADVICE (.*)$", said.output, re.MULTILINE)]
    assert len(advices) == len(FAILURES)
    expected = FAILURES[number][2]
    if expected is None:
        assert advices[number] is None
    else:
        assert expected in advices[number]
        assert advices[number].endswith("Then start again with -resume")


def waiting_run(folder, outdir, sample: str) -> tuple[subprocess.Popen, dict]:
    """A run of stubs whose tasks wait for a file `go`, and what its lock says."""
    folder.mkdir(exist_ok=True)
    (folder / "samples.csv").write_text(f"sample,path\n{sample},{PBMC}\n")
    wait = f"until [ -e {folder}/go ]; do sleep 0.1; done"
    (folder / "wait.config").write_text(
        f"process {{ withName: 'NORMALISE_.*' {{ beforeScript = '{wait}' }} }}\n"
    )
    command = [NEXTFLOW, "run", ROOT, "--outdir", outdir, "--input", "samples.csv", "-stub", "--skip_map"]
    process = subprocess.Popen(
        [*map(str, command), "-c", "wait.config"],
        cwd=folder, env=environment(), stdout=(folder / "said.txt").open("w"), stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    lock, trace = outdir / "pipeline_info/lock.txt", outdir / "pipeline_info/running_execution_trace.txt"
    held = {}
    while "folder" not in held or not trace.exists() or "CHECK_SAMPLES" not in trace.read_text():
        assert process.poll() is None, (folder / "said.txt").read_text()
        time.sleep(0.1)
        lines = lock.read_text().splitlines() if lock.exists() else []
        held = dict(line.split("\t") for line in lines)
    return process, held


def test_of_two_runs_into_one_folder_the_second_is_refused(tmp_path):
    results = tmp_path / "second" / "results"
    first, held = waiting_run(tmp_path / "first", results, "of_first")
    assert (int(held["process"]), held["folder"]) == (first.pid, str(tmp_path / "first"))
    (tmp_path / "second/samples.csv").write_text(f"sample,path\nof_second,{PBMC}\n")
    second = run_pipeline(tmp_path / "second", "--input", "samples.csv", "-stub", "--skip_map")
    assert second.status == 1, second.output
    assert "Submitted process" not in second.output
    assert (
        f"another run writes into '{results}': run '{held['run']}', process {first.pid} on " in second.output
    )
    assert (results / "pipeline_info/lock.txt").exists()

    (tmp_path / "first/go").touch()
    assert first.wait(300) == 0, (tmp_path / "first/said.txt").read_text()
    assert {path.name for path in (results / "cells").iterdir()} == {"of_first.parquet"}
    assert held["run"] in (results / "pipeline_info/started.txt").read_text()
    processes = {task["process"].split(":")[-1] for task in Run(tmp_path / "second", 0, "", "").tasks}
    assert processes >= {"CHECK_SAMPLES", "NORMALISE_RECEPTORS", "REPORT"}  # the trace of the first run
    left = {path.name for path in (results / "pipeline_info").iterdir()} - {".announced.txt"}
    assert not {name for name in left if name.startswith((".", "lock", "running"))}


def test_a_killed_run_goes_on_with_resume(tmp_path):
    folder, results = tmp_path / "run", tmp_path / "run/results"
    process, held = waiting_run(folder, results, "b")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert (results / "pipeline_info/lock.txt").exists()
    (folder / "go").touch()
    again = run_pipeline(
        folder, "--input", "samples.csv", "-stub", "--skip_map", "-c", "wait.config", "-resume"
    )
    assert again.status == 0, again.output
    assert "this run takes over: run '" + held["run"] in again.output
    assert again.processes >= {"CHECK_SAMPLES", "NORMALISE_RECEPTORS", "REPORT"}
    assert {path.name for path in (results / "cells").iterdir()} == {"b.parquet"}
    assert not (results / "pipeline_info/lock.txt").exists()
