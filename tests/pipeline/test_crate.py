"""The Workflow Run RO-Crate of a real run: its profile, its files and checksums, its parameters."""

import json
import shutil
import subprocess
from urllib.parse import unquote

import pytest
from pipeline_runs import ROOT
from test_manifest import rows_of

NAME = "ro-crate-metadata.json"
PYTHON = ROOT / ".venv-release/bin/python"  # of `make lint`
needs_validator = pytest.mark.skipif(not PYTHON.exists(), reason="the validator is not installed: make lint")


def problems(folder) -> str:
    command = [PYTHON, ROOT / "release/validate_crate.py", "workflow-run-crate", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stdout.strip() else 0), done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def graph(real_run) -> dict[str, dict]:
    return {entity["@id"]: entity for entity in json.loads((real_run.results / NAME).read_text())["@graph"]}


@needs_validator
def test_it_has_the_profile_of_a_workflow_run(real_run):
    assert problems(real_run.results) == ""


@needs_validator
@pytest.mark.parametrize(
    ("word", "other"),
    [
        ('"mainEntity"', '"mainThing"'),
        ('"ComputationalWorkflow"', '"Workflow"'),
        ("wfrun/workflow/0.5", "wfrun/another/0.5"),
        ('"FormalParameter"', '"Parameter"'),
        ('"datePublished"', '"date"'),
        ('"instrument"', '"tool"'),
    ],
)
def test_the_validator_finds_what_is_wrong(real_run, tmp_path, word, other):
    results = shutil.copytree(real_run.results, tmp_path / "results")
    text = (results / NAME).read_text()
    assert word in text
    (results / NAME).write_text(text.replace(word, other))
    assert problems(results) != ""


def test_its_files_are_those_of_the_manifest(real_run, graph):
    results = {
        unquote(name): entity["sha256"]
        for name, entity in graph.items()
        if entity["@type"] == "File" and "sha256" in entity and not name.startswith("file:")
    }
    rows = rows_of(real_run.results).values()
    assert results == {row["path"]: row["sha256"] for row in rows if row["kind"] == "result"}
    inputs = {entity["sha256"] for name, entity in graph.items() if name.startswith("file:///")}
    assert inputs == {row["sha256"] for row in rows if row["kind"] == "input"}
    (run,) = [entity for entity in graph.values() if entity["@type"] == "CreateAction"]
    made = {part["@id"] for part in run["result"]}
    assert made == {name for name in graph if unquote(name) in results} | {"pipeline_info/manifest.tsv"}
    assert all((real_run.results / unquote(name)).is_file() for name in made)
    assert run["startTime"] < run["endTime"]


def test_it_holds_every_parameter(graph):
    values = {
        entity["name"]: entity["value"] for entity in graph.values() if entity["@type"] == "PropertyValue"
    }
    expected = {
        "benchmark_k": "1,5",
        "benchmark_splits": "10",
        "shard_tokens": "16000",
        "export_airr": "true",
    }
    assert expected.items() <= values.items()
    formal = {entity["name"] for entity in graph.values() if entity["@type"] == "FormalParameter"}
    assert formal == values.keys()


def test_its_workflow_is_the_one_that_ran(real_run, graph):
    assert graph["./"]["mainEntity"] == {"@id": "pipeline_info/main.nf"}
    assert (real_run.results / "pipeline_info/main.nf").read_bytes() == (ROOT / "main.nf").read_bytes()
    assert graph["pipeline_info/main.nf"]["programmingLanguage"] == {"@id": "#nextflow"}
    assert graph["#nextflow"]["version"] in ("24.10.0", "25.04.4")
