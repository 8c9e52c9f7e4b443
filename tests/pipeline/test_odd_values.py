"""Null, an empty text, a list, a map, true and 3 as any parameter: allowed, or refused by name."""

import json
import re
from pathlib import Path

import pytest
from pipeline_runs import ROOT, checked_cases, run_pipeline
from test_parameters import sheet

SCHEMA = json.loads((ROOT / "nextflow_schema.json").read_text())["$defs"].values()
PARAMETERS = {name: definition for group in SCHEMA for name, definition in group["properties"].items()}
VALUES = [None, "", [], {}, True, 3]
CASES = [(name, value) for name in PARAMETERS for value in VALUES if name not in ("help", "version")]
# Other languages' words for what went wrong.
FOREIGN = re.compile(r"java|groovy|signature|Cannot|null object|Exception|WorkflowParam")


def is_accepted(definition: dict, value) -> bool:
    if value is None:
        return not definition.get("default")
    if value is True:
        return definition["type"] == "boolean"
    number = definition["type"] in ("integer", "number")
    return value == 3 and number and definition.get("minimum", 0) <= 3 <= definition.get("maximum", 3)


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> list[str | None]:
    folder = tmp_path_factory.mktemp("values")
    path = sheet(folder, f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    common = {"input": path, "reference": str(ROOT / "assets/demo/dash_human.csv"), "annotate": True}
    return checked_cases(folder, [{**common, name: value} for name, value in CASES])


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in CASES))
def test_a_value_of_another_kind_is_the_default_or_refused_by_name(said, name):
    assert len(said) == len(CASES)
    for (parameter, value), answer in zip(CASES, said, strict=True):
        if parameter != name:
            continue
        if is_accepted(PARAMETERS[name], value):
            # Parameters that need each other are checked later, in words of their own.
            assert answer is None or not FOREIGN.search(answer), (value, answer)
            assert not (answer or "").startswith(f"--{name}: needs a value"), value
        else:
            assert (answer or "").startswith(f"--{name}: "), (value, answer)
            assert not FOREIGN.search(answer), (value, answer)


def test_null_in_a_file_is_the_default_to_the_end_of_a_run(tmp_path):
    path = sheet(tmp_path, f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    given = {name: None for name, definition in PARAMETERS.items() if not definition.get("default")}
    lines = [f"{name}: {json.dumps(value)}" for name, value in {**given, "input": path}.items()]
    (tmp_path / "params.yml").write_text("\n".join(lines))
    run = run_pipeline(tmp_path, "-params-file", "params.yml", "-stub-run", "--skip_map")
    assert run.status == 0, run.output
    assert "NORMALISE_RECEPTORS" in run.processes


def test_a_refused_file_writes_nothing_anywhere(tmp_path):
    """Each problem is named, the error is the last line, and Nextflow makes no folder of its own."""
    sheet(tmp_path, f"sample,path\nb,{ROOT / 'assets/test/pbmc_b.csv'}\n")
    (tmp_path / "params.yml").write_text("input: samples.csv\noutdir: 2026-01-01\nspecies: null\n")
    run = run_pipeline(tmp_path, "-params-file", "params.yml", outdir=False)
    assert run.status == 1
    said = [line for line in run.output.splitlines() if line]
    assert "--species: null is no value" in run.output
    assert "--outdir: " in said[-1]
    assert "is no text; put it in quotation marks" in said[-1]
    assert not Path("/pipeline_info").exists()
    made = {path.name for path in tmp_path.iterdir()} - {"samples.csv", "params.yml", "results"}
    assert {name for name in made if not name.startswith(".nextflow")} <= {"work"}
