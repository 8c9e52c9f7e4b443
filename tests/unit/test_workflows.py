"""The workflows of .github: what actionlint and zizmor (`make workflows`) cannot see."""

import re

import pytest
import yaml
from inputs import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
JOBS = [
    (path.name, name, job)
    for path in WORKFLOWS
    for name, job in yaml.safe_load(path.read_text())["jobs"].items()
]


def variants(job: dict) -> list[dict]:
    """Return the values of each machine of a job, by the rules for a matrix of one list."""
    matrix = job.get("strategy", {}).get("matrix", {})
    lists = [(key, values) for key, values in matrix.items() if key != "include"]
    return matrix.get("include") or [{key: value} for key, values in lists for value in values] or [{}]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_a_commit_with_its_version(path):
    used = re.findall(r"uses: (.*)", path.read_text())
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_an_action_has_one_version():
    used = {line for path in WORKFLOWS for line in re.findall(r"uses: (.*)", path.read_text())}
    assert len(used) == len({line.split("@")[0] for line in used})


@pytest.mark.parametrize(("workflow", "name", "job"), JOBS)
def test_a_job_runs_what_exists(workflow, name, job):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert job["timeout-minutes"] <= 300
    commands = [step["run"] for step in job["steps"] if "run" in step]
    for variant in variants(job):
        asked = {word for line in commands for word in re.findall(r"\bmake ([a-z-]+)", line)}
        asked |= {variant["target"]} if any('make "$TARGET"' in line for line in commands) else set()
        assert asked <= targets
        scripts = {path for line in commands for path in re.findall(r"python3 (\S+)", line)}
        files = {variant["file"]} if "file" in variant else set()
        assert [path for path in scripts | files if not (ROOT / path).exists()] == []
        if "target" in variant and "file" in variant:
            assert f" AS {variant['target']}\n" in (ROOT / variant["file"]).read_text()
