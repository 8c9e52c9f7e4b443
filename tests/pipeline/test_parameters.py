"""Mistakes end a run within seconds, with one sentence that says where and what."""

import csv
import json
import os
import re

import pytest
from pipeline_runs import ROOT, launcher_cache, run_pipeline

PBMC = ROOT / "assets/test/pbmc_b.csv"
DASH = ROOT / "assets/demo/dash_human.csv"


def sheet(folder, text: str) -> str:
    path = folder / "samples.csv"
    path.write_text(text)
    return str(path)


def test_samplesheet_is_refused(tmp_path):
    """By the rules of tests/unit/test_samplesheet.py, all broken ones in one message, before another task."""
    text = (
        f"sample,path,format,column_map\na,{PBMC},,nowhere.json\nA,{PBMC},10x,{PBMC}\n_b,nowhere.csv,11x,\n"
    )
    run = run_pipeline(tmp_path, "--input", sheet(tmp_path, text))
    assert run.status == 1
    assert run.output.count("Submitted process") == 1
    assert "Submitted process > CHECK:CHECK_SAMPLES" in run.output
    for sentence in (
        "5 problems in the input:",
        "samples.csv, row 1, column 'column_map': there is no file 'nowhere.json'",
        "samples.csv, row 2, column 'sample': 'A' is also the name of row 1 ('a'); case is",
        "samples.csv, row 2, column 'column_map': a table with a column map has no format",
        "samples.csv, row 3, column 'sample': '_b' may hold letters, digits",
        "samples.csv, row 3, column 'format': '11x' is not one of airr, 10x",
    ):
        assert sentence in run.output
    assert "Command error" not in run.output


def spreadsheet(folder) -> str:
    """Byte order mark, Windows line ends, quoted cells, blank last line; paths beside the sheet."""
    (folder / "with blank.csv").write_text(PBMC.read_text())
    path = folder / "samples.csv"
    path.write_bytes('\ufeffsample,path,note\r\na,"with blank.csv","x, y"\r\n\r\n'.encode())
    return str(path)


@pytest.mark.parametrize(("args", "hidden"), [(["--help"], False), (["--help", "--show_hidden"], True)])
def test_help_names_the_parameters_by_group(tmp_path, args, hidden):
    """Twenty-two, or all."""
    run = run_pipeline(tmp_path, *args)
    assert run.status == 0
    for text in ("Input and output\n", "Embedding\n", "Few-shot benchmark\n", "--labelled ", "[0.1]"):
        assert text in run.output
    assert "Submitted process" not in run.output
    schema = json.loads((ROOT / "nextflow_schema.json").read_text())["$defs"].values()
    every = {name: definition for group in schema for name, definition in group["properties"].items()}
    expected = {name for name, definition in every.items() if hidden or not definition.get("hidden")}
    assert set(re.findall(r"^  --(\w+) ", run.output, re.MULTILINE)) == expected
    assert len(expected) == (len(every) if hidden else 22)


def test_version(tmp_path):
    run = run_pipeline(tmp_path, "--version", AIRRVEC_NEXTFLOW="24.10.0")
    assert run.status == 0
    assert "airrvec 0.1.0" in run.output
    kept = launcher_cache() / "nextflow-24.10.0-scripts"  # one file per script
    assert len([path for path in kept.iterdir() if re.fullmatch(r"[0-9a-f]{64}\.classes", path.name)]) > 50


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_parameters_of_a_file_an_institution_and_an_unknown_one(tmp_path, monkeypatch, kind):
    """
    `-params-file`, a profile of `--custom_config_base`, names of the trace, and the e-mail at the end; with
    YAML a samplesheet of a spreadsheet.
    """
    programs, institute = tmp_path / "bin", tmp_path / "institute"
    for folder in (programs, institute):
        folder.mkdir()
    (programs / "sendmail").write_text(f"#!/bin/sh\ncat > {tmp_path}/mail.txt\n")
    (programs / "sendmail").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    (institute / "nfcore_custom.config").write_text(
        "profiles { ours { params { config_profile_name = 'ours'\n"
        "config_profile_description = 'our cluster'\nother = 1 } } }\n"
    )
    given = {
        "input": spreadsheet(tmp_path) if kind == "yaml" else sheet(tmp_path, f"sample,path\na,{PBMC}\n"),
        "custom_config_base": str(institute),
        **{"trace_report_suffix": "second", "email": "me@example.org", "plaintext_email": kind == "yaml"},
        **{"skip_map": True, "validate_params": False},
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in given.items()]
    path = tmp_path / f"params.{kind}"
    path.write_text(json.dumps(given) if kind == "json" else "\n".join(lines))
    run = run_pipeline(tmp_path, "-params-file", path.name, "-profile", "ours", "-stub")
    assert run.status == 0, run.output
    assert "there is no parameter --other" in run.output  # a warning, as the parameters are not validated
    assert (run.results / "pipeline_info/execution_trace_second.txt").exists()
    assert "MAP_RECEPTORS" not in run.output
    with (run.results / "pipeline_info/execution_trace_second.txt").open() as handle:
        names = [task["name"] for task in csv.DictReader(handle, delimiter="\t")]
    assert [name for name in names if "NORMALISE_RECEPTORS" in name] == ["NORMALISE:NORMALISE_RECEPTORS (a)"]
    assert "Configuration of ours: our cluster" in run.output
    mail = (tmp_path / "mail.txt").read_text()
    assert "To: me@example.org" in mail
    assert " finished after " in re.sub("=\n|</?b>", "", mail)
    assert ("text/html" in mail) == ("<pre>" in mail) == (kind == "json")
