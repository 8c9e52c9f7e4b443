"""No parameter and no column of the samplesheet runs as code: each is given words that would make a file."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from canaries import (
    CANARY,
    MATERIAL,
    MIXED,
    PARAMETERS,
    make,
    payload,
    project_of_stand_ins,
    sheet_rows,
    stand_in,
    values,
    write_sheet,
)
from pipeline_runs import NEXTFLOW, ROOT, checked_cases, environment
from test_run import PROCESSES

DASH = str(ROOT / "assets/demo/dash_human.csv")
# A run of nearly everything, so that a word that is accepted reaches the tasks that take it.
EVERYTHING = {
    "labelled": DASH,
    "encoders": "cdr3_levenshtein",
    "benchmark_rules": "nearest_neighbour,linear_svc",
    "analyses": "all",
    "annotate": True,
    "cluster": True,
    "compare": True,
    "compare_by": "condition",
    "export_airr": True,
    "export_anndata": True,
    "export_sce": True,
    "finetune": True,
    "trace_report_suffix": "x",
}
PRETRAINING = {"pretrain": "base", "synthetic_receptors": 100}
OPTIONAL = {
    *("ANALYSE_GENERATION", "ANALYSE_RECEPTORS", "ANALYSE_RESULTS", "MERGE_REFERENCES"),
    *(
        "ASSOCIATE_HLA",
        "EMBED_BACKGROUND",
        "CLUSTER_RECEPTORS",
        "COMPARE_CONDITIONS",
        "COMPARE_SAMPLES",
        "CHECK_R",
        "EXPORT_SCE",
        "CHECK_DEVICE",
    ),
    *("NORMALISE_REFERENCE", "CALIBRATE_ANNOTATION", "ANNOTATE_RECEPTORS", "FINETUNE"),
}


@dataclass(frozen=True)
class Done:
    """A run, and the canaries that appeared in its folder: launch, work and results lie there."""

    status: int
    output: str
    arguments: set[str]  # of the stand-ins, also those that a task gives in a file
    processes: set[str]
    canaries: list[Path]


def run(folder: Path, project: Path, parameters: dict, *args: str, **env: str) -> Done:
    folder.mkdir(exist_ok=True)
    given = {"outdir": str(folder / "results"), "device": "cpu", **parameters}
    (folder / "parameters.json").write_text(json.dumps(given))
    (folder / "small.config").write_text("process.resourceLimits = [cpus: 1, memory: 1.GB, time: 1.h]\n")
    done = subprocess.run(
        [str(NEXTFLOW), "run", str(project), "-params-file", "parameters.json", "-c", "small.config", *args],
        cwd=folder,
        env=environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    arguments = {
        line for path in folder.glob("work/??/*/arguments.txt") for line in path.read_text().splitlines()
    }
    for path in folder.glob("work/??/*/options.json"):
        arguments |= {word for options in json.loads(path.read_text()) for word in options}
    started = set(re.findall(r"Submitted process > (?:\w+:)*(\w+)", done.stdout))
    places = (folder, project, Path(given["outdir"]))
    canaries = sorted({path for place in places for path in place.rglob(CANARY)})
    return Done(done.returncode, done.stdout, arguments, started, canaries)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("canaries")


@pytest.fixture(scope="module")
def project(folder) -> Path:
    return project_of_stand_ins(folder)


@pytest.fixture(scope="module")
def tried(folder) -> dict[str, list]:
    """Parameter → its values: kinds, value, why it is refused before the first task or None. In one run."""
    place = folder / "checks"
    write_sheet(place / "samples.csv", [{"sample": "a", "path": DASH, "condition": "x"}])
    given = {name: values(name, folder / "values") for name in PARAMETERS}
    cases = []
    for name, found in given.items():
        common = {
            "input": "samples.csv",
            **EVERYTHING,
            **(PRETRAINING if name in ("pretrain", "pretrain_loss") else {}),
        }
        for _, value in found:
            path = Path(str(value))
            if name == "input" and path.is_file():
                shutil.copy(place / "samples.csv", path)
            cases.append({**common, name: value})
    said = checked_cases(place, cases)
    assert len(said) == len(cases)
    answers = iter(said)
    tried = {name: [(*pair, next(answers)) for pair in found] for name, found in given.items()}
    (folder / "tried.json").write_text(json.dumps(tried, indent=1))  # for who wants to know which are refused
    return tried


def cover(accepted: list[tuple]) -> list:
    """The fewest values, from the first, that drive all kinds that are accepted."""
    chosen, driven = [], set()
    for kinds, value in accepted:
        if set(kinds) - driven:
            chosen.append(value)
            driven |= set(kinds)
    return chosen


@pytest.fixture(scope="module")
def accepted(tried) -> dict[str, list]:
    found = {
        name: cover([(kinds, value) for kinds, value, refusal in found if refusal is None])
        for name, found in tried.items()
    }
    return {name: chosen for name, chosen in found.items() if chosen}


def test_numbers_choices_and_patterns_refuse_every_word(tried, accepted):
    """What is neither a path nor a text for people takes no word at all; what takes one is run below."""
    free = {name for name in PARAMETERS if name.startswith(("config_profile_", "custom_config_"))}
    paths = {name for name, given in PARAMETERS.items() if "path" in given.get("format", "")}
    assert set(accepted) <= free | paths | set(MATERIAL)
    assert set(MATERIAL) <= set(accepted)
    # So that each run below drives all that a parameter accepts.
    assert {name: chosen for name, chosen in accepted.items() if len(chosen) > 1} == {}
    for name, found in tried.items():
        for kinds, value, refusal in found:
            assert refusal is None or f"--{name}: " in refusal, (value, refusal)
            assert refusal or "line break" not in kinds, (name, value)


@pytest.fixture(scope="module")
def refused_sheet(folder, project) -> tuple[list, Done]:
    """A samplesheet with each word in each column, and what the run says."""
    rows = sheet_rows(folder / "tables")
    write_sheet(folder / "sheet/samples.csv", [row for *_, row in rows])
    return rows, run(folder / "sheet", project, {"input": "samples.csv"})


def test_words_in_each_column_of_the_samplesheet(refused_sheet):
    _, done = refused_sheet
    assert done.status == 1
    assert done.canaries == []
    assert done.processes == {"CHECK_SAMPLES"}
    assert "problems in the input" in done.output


@pytest.fixture(scope="module")
def good_rows(refused_sheet) -> list[dict]:
    """The rows that no rule refuses, one for each kind."""
    rows, done = refused_sheet
    refused = {int(number) - 1 for number in re.findall(r"samples\.csv, row (\d+)", done.output)}
    lines = next(n for n, (_, kinds, _) in enumerate(rows) if "line break" in kinds)
    left = [row for n, row in enumerate(rows[:lines]) if n not in refused]
    columns = sorted({column for column, *_ in left})
    assert columns == ["column_map", "path"], columns
    chosen = [row for name in columns for row in cover([row[1:] for row in left if row[0] == name])]
    return [{**row, "condition": "xy"[n % 2]} for n, row in enumerate(chosen)]


NO_RECORD = "in the results is not what a task of this run wrote"
ENGINE = """#!/bin/bash
while [[ $# -gt 0 && $1 != ghcr.io/airrvec/* ]]; do shift; done
shift && exec "$@"
"""


@pytest.mark.parametrize("engine", ["local", "docker"])
def test_no_word_that_is_accepted_is_run(folder, project, accepted, good_rows, engine):
    """Tasks run the real scripts with stand-ins for programs; docker is one that runs its command here."""
    number = ["local", "docker"].index(engine)
    note = payload(MIXED[0])
    # The folder of launch and work. With containers, such a name is refused.
    place = folder / (engine if engine == "docker" else f"{engine}{note}")
    place.mkdir()
    chosen = {name: words[number % len(words)] for name, words in accepted.items()}
    chosen = {**EVERYTHING, **chosen, "synthetic_receptors": 100}
    for name in ("model",) if engine == "docker" else ("pretrain", "synthetic_receptors"):
        del chosen[name]
    rows = [{**row, "hla": "A*02:01", note: note} for row in good_rows]
    write_sheet(place / "samples.csv", rows, ("condition", note))
    if "input" in accepted:
        shutil.copy(place / "samples.csv", make_parent(Path(chosen["input"])))
    # What stand-ins wrote has no record, so that a second run into the same folder would be refused.
    shutil.rmtree(chosen["outdir"], ignore_errors=True)
    programs = folder / f"programs of {engine}"
    programs.mkdir()
    stand_in(programs / "Rscript", "nothing.txt")
    (programs / "docker").write_text(ENGINE)
    (programs / "docker").chmod(0o755)
    path = f"{programs}{os.pathsep}{environment()['PATH']}"
    profile = ("-profile", "docker") if engine == "docker" else ()
    done = run(place, project, {"input": "samples.csv", **chosen}, *profile, PATH=path)
    assert done.canaries == []
    assert done.processes >= PROCESSES | OPTIONAL
    # Stand-ins leave no records of their files, which the end of the run says; nothing else is wrong.
    errors = re.findall(r"ERROR ~ (.*)", done.output)
    assert [said for said in errors if NO_RECORD not in said] == [], done.output
    assert ("PRETRAIN" in done.processes) == (engine == "docker")
    # The names arrive as they are.
    tables = {Path(row["path"]).name for row in rows} | {Path(chosen["labelled"]).name}
    assert tables <= {Path(word).name for word in done.arguments}
    assert f"background/{Path(chosen['background']).name}" in done.arguments


def make_parent(path: Path) -> Path:
    make(path, "")
    return path


@pytest.mark.parametrize("sign", ["`", "$"])
def test_a_work_folder_that_docker_would_run_is_refused(folder, project, sign):
    """Nextflow starts a container by a line in double quotation marks, in which the folder's name stands."""
    place = folder / f"work {ord(sign)}"
    work = place / f"a{sign}b"
    done = run(place, project, {"labelled": DASH}, "-profile", "docker", "-w", str(work))
    assert done.status == 1
    assert done.processes == set()
    assert f"the name of the work folder, '{work}', holds '{sign}'" in done.output
