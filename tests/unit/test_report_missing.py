"""What a run lacks is the first that its report and its summary tell."""

import json

from airrvec.app.verbs import work
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part, write_missing
from airrvec.report.sections.missing import missing_lines, missing_section, read_missing

import pytest
from test_report import EMBEDDINGS, RECEPTORS, SAMPLE

REJECTED = {"part": "sample", "name": "p<3>", "reason": "none of the 200 rows is an α or β chain"}
TOO_SMALL = {"part": "benchmark", "name": "labelled", "reason": "no epitope has enough receptors"}


def test_parts_of_all_tasks_are_read_once_samples_first(tmp_path):
    write_missing([TOO_SMALL], tmp_path / "1/a.missing.json")
    write_missing([REJECTED, TOO_SMALL], tmp_path / "2/b.missing.json")
    (tmp_path / "other.json").write_text("no list of parts")
    assert read_missing(tmp_path) == [REJECTED, TOO_SMALL]
    write_missing([{**TOO_SMALL, "name": "sceptr"}], tmp_path / "3/c.missing.json")
    assert read_missing(tmp_path) == [REJECTED, {**TOO_SMALL, "name": "labelled, sceptr"}]
    assert read_missing(None) == read_missing(tmp_path / "nowhere") == []


def test_an_entry_names_its_part(tmp_path):
    for wrong in ({"part": "sample", "name": "x"}, {**REJECTED, "part": "weather"}):
        with pytest.raises(ValueError, match="invalid entry of a missing part"):
            write_missing([wrong], tmp_path / "x.missing.json")
    assert not list(tmp_path.iterdir())


def test_nothing_is_said_where_nothing_is_missing():
    assert missing_section([]) is None
    assert missing_lines([]) == []


def test_the_users_words_are_harmless_in_the_report():
    found = missing_section([REJECTED, TOO_SMALL])
    assert found["description"].startswith("2 parts could not be made")
    assert "<td>Sample</td><td>p&lt;3&gt;</td><td>none of the 200 rows" in found["data"]
    assert "p<3>" not in json.dumps(found)


def test_report_and_summary_begin_with_what_is_missing(tmp_path):
    for name, qc in (("s", SAMPLE), ("receptors", RECEPTORS), ("sceptr", EMBEDDINGS)):
        (tmp_path / f"{name}.qc.json").write_text(json.dumps(qc))
    write_missing([REJECTED, TOO_SMALL], tmp_path / "missing/1/x.missing.json")
    qc = [
        word
        for option, name in (("normalised", "s"), ("collected", "receptors"), ("embedded", "sceptr"))
        for word in (f"--{option}", str(tmp_path / f"{name}.qc.json"))
    ]
    report = work.script("report").main
    report([*qc, "--missing", str(tmp_path / "missing"), "--outdir", str(tmp_path / "content")])
    lines = (tmp_path / "content/summary.txt").read_text().splitlines()
    assert lines[:4] == [
        "MISSING: 2 parts could not be made",
        "  Sample p<3>: none of the 200 rows is an α or β chain",
        "  Benchmark labelled: no epitope has enough receptors",
        "",
    ]
    assert lines[4].startswith("Sample  ")
    assert (tmp_path / "content/airrvec_missing_mqc.json").exists()
    report([*qc, "--outdir", str(tmp_path / "complete")])
    assert (tmp_path / "complete/summary.txt").read_text().startswith("Sample  ")
    assert not (tmp_path / "complete/airrvec_missing_mqc.json").exists()


@optional_part("export")
def fails(argv=None):
    raise (
        InputError("two of three cells have no receptor", fix="Give them one")
        if argv[-1] == "input"
        else KeyError
    )


def test_an_optional_part_writes_why_it_is_missing_and_ends_well(tmp_path, capsys):
    path = tmp_path / "missing/s.tsv.missing.json"
    fails(["--missing", str(path), "input"])
    reason = "two of three cells have no receptor. Give them one."
    assert read_missing(tmp_path) == [{"part": "export", "name": "s.tsv", "reason": reason}]
    assert capsys.readouterr().err == f"WARNING: Export s.tsv could not be made: {reason}\n"


def test_without_the_option_or_after_a_mistake_of_ours_it_ends_with_an_error(tmp_path):
    with pytest.raises(SystemExit) as ended:
        fails(["input"])
    assert ended.value.code == 1
    with pytest.raises(KeyError):
        fails(["--missing", str(tmp_path / "s.missing.json"), "other"])
    assert not list(tmp_path.iterdir())


def test_a_section_that_cannot_be_made_is_said_and_the_rest_is_there(tmp_path, capsys):
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters/clusters.qc.json").write_text("{")  # cut short
    for name, qc in (("s", SAMPLE), ("receptors", RECEPTORS), ("sceptr", EMBEDDINGS)):
        (tmp_path / f"{name}.qc.json").write_text(json.dumps(qc))
    report = work.script("report").main
    folders = {"normalised": "s.qc.json", "collected": "receptors.qc.json", "embedded": "sceptr.qc.json"}
    folders |= {"clusters": "clusters", "outdir": "content"}
    report([word for option, name in folders.items() for word in (f"--{option}", f"{tmp_path}/{name}")])
    first, second, *rest = (tmp_path / "content/summary.txt").read_text().splitlines()
    assert first == "MISSING: 1 part could not be made"
    assert second.startswith("  Report clusters: JSONDecodeError: ")
    assert any(line.startswith("Sample  ") for line in rest)
    assert "Traceback" in capsys.readouterr().err
    brief = json.loads((tmp_path / "content/airrvec_brief_findings_mqc.json").read_text())["data"]
    assert "1 part could not be made (report): <a" in brief
    assert "Not requested: <code>--annotate</code>, <code>--compare</code>." in brief
    assert (tmp_path / "content/airrvec_samples_mqc.json").exists()
