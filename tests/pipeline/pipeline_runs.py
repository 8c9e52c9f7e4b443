"""Runs of the real pipeline, each in a folder of its own."""

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEXTFLOW = ROOT / "containers" / "nextflow" / "nextflow"
# These hold times.
TIMES = re.compile(
    r"ro-crate-metadata\.json|pipeline_info/(execution_(report|timeline|trace)|pipeline_dag|started)\.\w+"
)
# Nextflow has lost a free core, and a task that needs all waits for ever (docs/reliability.md).
STALLED = "No more task to compute"


@dataclass(frozen=True)
class Run:
    """One run: its folder, exit status, what it printed, and its log."""

    folder: Path
    status: int
    output: str
    log: str

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def tasks(self) -> list[dict]:
        """Rows of the execution trace; that of a run that was killed has kept the name of a running one."""
        killed = self.results / "pipeline_info" / "running_execution_trace.txt"
        with (killed if killed.exists() else killed.with_name("execution_trace.txt")).open() as handle:
            return list(csv.DictReader(handle, delimiter="\t"))

    @property
    def processes(self) -> set[str]:
        return {task["process"].split(":")[-1] for task in self.tasks}

    @property
    def warnings(self) -> list[str]:
        """Warnings of Nextflow about the pipeline, such as selectors that match no process."""
        return re.findall(r"WARN +nextflow\..*", self.log)


def environment(**more: str) -> dict[str, str]:
    python = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{python}{os.pathsep}{os.environ['PATH']}",
        "NXF_ANSI_LOG": "false",
        "NXF_OPTS": os.environ.get("NXF_OPTS", "-Xms1g -Xmn600m"),  # fewer collections of garbage
        **more,
    }


def launcher_cache() -> Path:
    """Return the folder of what the launcher fetches and compiles."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("AIRRVEC_CACHE") or Path(cache, "airrvec"))


def launcher_folders() -> list[Path]:
    """Return the folders in it that a start needs: the jars, and the classes of patches."""
    cache = launcher_cache()
    return [cache / "nextflow-24.10.0", *cache.glob("nextflow-24.10.0-patch-*")]


def run_pipeline(
    folder: Path, *args: str, project: Path = ROOT, timeout=600, outdir: bool = True, **env: str
) -> Run:
    """Run the pipeline with its results in ``folder``/results; without ``outdir``, where ``args`` tell."""
    results = ["--outdir", folder / "results"] if outdir else []
    # What is handed over takes seconds: only runs of a profile make it, and those that name it.
    spared = [] if {"-profile", "--handover"} & set(args) else ["--handover", "false"]
    command = [NEXTFLOW, "run", project, *results, *args, *spared]
    started = partial(
        subprocess.run,
        cwd=folder,
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
    )
    words = [str(part) for part in command]
    try:
        done = started(words)
    except subprocess.TimeoutExpired:
        if STALLED not in (folder / ".nextflow.log").read_text():
            raise
        done = started([*words, "-resume"])
    return Run(folder, done.returncode, done.stdout, (folder / ".nextflow.log").read_text())


def project_of(folder: Path, script: str) -> Path:
    """A project of the functions of ours, in ``folder``, whose workflow is another of this folder."""
    project = folder / "project"
    project.mkdir()
    for name in ("assets", "conf", "modules", "subworkflows", "nextflow.config", "nextflow_schema.json"):
        (project / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "tests/pipeline" / script, project / "main.nf")
    return project


def checked_cases(folder: Path, cases: list[dict], script: str = "refusals.nf") -> list:
    """What the checks say to each case, in one run."""
    (folder / "cases.json").write_text(json.dumps(cases))
    run = run_pipeline(folder, "--cases", "cases.json", project=project_of(folder, script))
    assert run.status == 0, run.output
    return [json.loads(said)[0] for said in re.findall(r"^REFUSAL (.*)$", run.output, re.MULTILINE)]


def digests(results: Path) -> dict[str, str]:
    """SHA-256 of each file of a folder, by its path; without those that hold times."""
    files = {str(path.relative_to(results)): path for path in results.rglob("*") if path.is_file()}
    return {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in sorted(files.items())
        if not TIMES.fullmatch(name)
    }


def differences(found: dict[str, str], expected: dict[str, str]) -> list[str]:
    missing = [f"{name} is missing" for name in expected.keys() - found.keys()]
    more = [f"{name} is left over" for name in found.keys() - expected.keys()]
    both = found.keys() & expected.keys()
    return sorted([*missing, *more, *(f"{name} differs" for name in both if found[name] != expected[name])])
