"""Runs on a Slurm, and the jobs of their tasks."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
from cluster import HANGS, wait
from pipeline_runs import NEXTFLOW, ROOT, Run, environment, run_pipeline

# Nextflow looks at its jobs every second, as they take only a few; limits as those of the profile `test`.
QUICK = """
process.resourceLimits = [cpus: 2, memory: 6.GB, time: 1.h]
executor {
    pollInterval      = '1 sec'
    queueStatInterval = '2 sec'
    exitReadTimeout   = '15 sec'
}
"""
TABLES = ("embeddings/sceptr.parquet", "receptors/receptors.parquet", "cells/a.parquet", "rejects/b.parquet")
PRESET = {
    "data": "synthetic",
    "model": {"n_layers": 1, "d_model": 16, "n_heads": 2, "d_feedforward": 32},
    "schedule": {"steps": 600, "batch_size": 32, "warmup_steps": 100, "validate_every": 250},
}
PROCESSES = [path.name.upper() for path in (ROOT / "modules/local").iterdir()]


def prepare(folder: Path) -> None:
    (folder / "quick.config").write_text(QUICK)
    (folder / "tiny_own.json").write_text(json.dumps(PRESET))
    (folder / "samples.csv").write_text(f"sample,path\nb,{ROOT}/assets/test/pbmc_b.csv\n")


def run(slurm, folder: Path, *args: str, **env: str) -> Run:
    return run_pipeline(folder, "-c", "quick.config", *args, **slurm.env, **env)


@contextmanager
def head(slurm, folder: Path, *args: str, **env: str):
    """Nextflow's head job in the background; it is gone in the end."""
    command = [NEXTFLOW, "run", ROOT, "--outdir", folder / "results", "-c", "quick.config", *args]
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=environment(**slurm.env, **env),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def ended(process: subprocess.Popen, folder: Path) -> Run:
    status = process.wait(HANGS)
    return Run(folder, status, (folder / "output.txt").read_text(), (folder / ".nextflow.log").read_text())


def process_of(job: dict) -> str:
    """Slurm's name of a job joins the names of subworkflows and process, and its tag."""
    name = job["JobName"].split("_(")[0]
    return max((process for process in PROCESSES if name.endswith(f"_{process}")), key=len)


def running(slurm, folder: Path, *processes: str, but: tuple[str, ...] = (), on: str = "") -> dict:
    """A running job of one of the processes, waited for; ``but`` none of these ids, ``on`` a node."""
    return wait(
        lambda: next(
            (
                job
                for job in slurm.jobs(folder)
                if process_of(job) in processes
                and job["JobState"] == "RUNNING"
                and job["JobId"] not in but
                and on in job["NodeList"]
            ),
            None,
        ),
        f"a running {' or '.join(processes)} on {on or 'any node'}",
        lambda: (folder / "output.txt").read_text(),
    )


def state_of(slurm, job: dict) -> str:
    return next(now["JobState"] for now in slurm.jobs() if now["JobId"] == job["JobId"])


def programs_of(job: dict) -> dict[int, list[str]]:
    """Process ids and command lines in the work folder of a job, once its script runs; waited for."""

    def started():
        found = processes(Path(job["WorkDir"]))
        return found if any(map(is_script, found.values())) else None

    return wait(started, f"the script of {job['JobName']}")


def processes(folder: Path) -> dict[int, list[str]]:
    """Process ids and command lines of what runs in a folder or below."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if Path(os.readlink(entry / "cwd")).is_relative_to(folder):
                found[int(entry.name)] = (entry / "cmdline").read_text().split("\0")
    return found


def kill(programs: Iterable[int], by: signal.Signals = signal.SIGKILL) -> None:
    """Some of a job's are short-lived, and may have ended since they were seen."""
    for number in programs:
        with suppress(ProcessLookupError):
            os.kill(number, by)


def is_script(arguments: list[str]) -> bool:
    return len(arguments) > 1 and arguments[1].endswith(".py")


def hash_of(job: dict) -> str:
    """As the trace spells it."""
    first, second = Path(job["WorkDir"]).parts[-2:]
    return f"{first}/{second[:6]}"


def assert_complete(run: Run, expected: Run) -> None:
    assert run.status == 0, run.output
    for name in TABLES:
        pd.testing.assert_frame_equal(
            pd.read_parquet(run.results / name), pd.read_parquet(expected.results / name)
        )


def assert_nothing_again(slurm, finished: list[dict], again: Run) -> None:
    """What had finished is the same in a resumed run, and was a job only once."""
    assert finished
    cached = {task["hash"] for task in again.tasks if task["status"] == "CACHED"}
    assert {task["hash"] for task in finished} <= cached
    jobs = Counter(job["JobName"] for job in slurm.jobs(again.folder) if hash_of(job) in cached)
    completed = Counter(job["JobName"] for job in slurm.jobs(again.folder) if job["JobState"] == "COMPLETED")
    assert set(jobs.values()) == {1}
    assert {name: completed[name] for name in jobs} == dict(jobs)


def finished_tasks(folder: Path) -> list[dict]:
    """Those that the trace of a run says so of, also of a run that was killed."""
    return [task for task in Run(folder, 0, "", "").tasks if task["status"] in ("COMPLETED", "CACHED")]
