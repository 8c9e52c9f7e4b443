"""What the report says of annotation: the numbers of the tables, and the user's words escaped."""

import json
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.report.sections import annotation as report_annotation

import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT

RECEPTOR = ("TRAV27*01", "TRAJ42*01", "CAGAGSQGNLIF", "TRBV19*02", "TRBJ2-7*01", "CASSIRSAYEQYF")
PAIRED = {"species": "homosapiens", "chains": "paired"}


CALL = {
    "receptor_id": "r1",
    **PAIRED,
    **dict(zip(schema.RECEPTOR_FIELDS, RECEPTOR, strict=True)),
    "call": "called",
    "epitope": "<b>",
    "antigen_gene": "M1, matrix",
    "antigen_species": None,
    "mhc_a": "HLA-A*02",
    "mhc_b": "B2M",
    "abundance": 1,
    "count_unit": "cells",
    "probability": 0.9,
    "fdr": 0.05,
    "score": 1.0,
    "evidence_sceptr": 0.5,
    "evidence_beta": 2.04,
    "evidence_alpha": None,
    "evidence_genes": 0.01,
    "nearest_1_id": "r2",
    "nearest_1_distance": 0.3,
    "nearest_1_receptor": "α not compared · TRBV19 CASSIRSSYEQYF TRBJ2-7",
    "nearest_1_epitope": "<b>",
    "nearest_1_antigen_gene": "M1",
    "nearest_1_antigen_species": "Influenza A",
    "nearest_1_mhc": "HLA-A*02",
    "nearest_1_study": "PMID:1",
}


def write_calls(folder: Path, sample: str, calls: list[dict]) -> None:
    """Write the table of a sample, a cell per call."""
    rows = [{**call, "sample_id": sample} for call in calls]
    tables.write(pa.Table.from_pylist(rows, schema.ANNOTATION), folder / f"calls/{sample}.parquet")


def read(folder: Path) -> report_annotation.Annotation:
    return report_annotation.read_annotation(folder, folder / "calls")


@pytest.fixture
def folder(tmp_path):
    sample = {
        "sample_id": "x",
        "fdr": 0.1,
        "receptors": 10,
        "count_unit": "cells",
        "abundance": 20,
        "called_abundance": 5,
        "calls": {"called": 2, "no call": 8},
        "exact": 3,
        "groups": [{**PAIRED, "receptors": 10, "called": 2, "expected_false": 0.15, "prevalence": 0.2}],
        "epitopes": [{"epitope": "<b>", "antigen_species": None, "receptors": 2, "abundance": 5}],
    }
    write_calls(tmp_path, "x", [CALL] * 4)
    counts = {"references": 50, "epitopes": 3, "candidates": 2, "studies": 4}
    reference = {
        "background": "OLGA",
        "groups": [
            {**PAIRED, **counts, "not_calibrated": None, "by_study": False, "brier": 0.0123},
            {
                **{**PAIRED, "chains": "alpha"},
                **{**counts, "references": 0, "not_calibrated": "no epitope has 10 references"},
            },
        ],
    }
    (tmp_path / "x.annotation.qc.json").write_text(json.dumps(sample))
    (tmp_path / "calibration.qc.json").write_text(json.dumps(reference))
    group = tuple(PAIRED.values())
    bins = [(*group, 0.1, 0.05, 0.04, 0.9, 5, 100), (*group, 0.1, 0.9, 0.95, 0.1, 40, 0)]
    curve = [(*group, 0.1, -1.0, 0.9, 0.3), (*group, 0.1, -2.0, 0.5, 0.6)]
    for name, of_name, rows in (
        ("calibration", schema.CALIBRATION, bins),
        ("precision_recall", schema.PRECISION_RECALL, curve),
    ):
        records = [dict(zip(of_name.names, row, strict=True)) for row in rows]
        tables.write(pa.Table.from_pylist(records, of_name), tmp_path / f"{name}.parquet")
    return tmp_path


def test_sections_show_the_numbers_and_escape_words(folder):
    annotation = read(folder)
    counts, epitopes, top, reliability, curve = report_annotation.annotation_sections(annotation)
    assert counts["data"]["x"]["called"] == 2
    assert counts["data"]["x"]["exact"] == 3
    assert counts["data"]["x"]["expected_false"] == 0.15
    assert "α chains alone: not calibrated" in counts["description"]
    assert "held out at random" in counts["description"]
    assert epitopes["data"] == {"x": {"&lt;b&gt;": 2}}
    assert top["data"]["x, 001"]["epitope"] == "&lt;b&gt;"
    assert "<b>" not in json.dumps([epitopes, top])
    assert reliability["data"]["α and β chains"] == {"0.0500": 0.04, "0.9000": 0.95}
    assert "0.0123" in reliability["description"]
    assert curve["data"]["α and β chains, 10 % labelled"] == {"0.3000": 0.9, "0.6000": 0.5}


def test_a_call_shows_receptor_and_reference_by_name_and_ids_last(folder):
    top = report_annotation.annotation_sections(read(folder))[2]
    row = top["data"]["x, 001"]
    assert (row["tra"], row["trb"]) == ("TRAV27 CAGAGSQGNLIF TRAJ42", "TRBV19 CASSIRSAYEQYF TRBJ2-7")
    assert (row["nearest_tra"], row["nearest_trb"]) == ("α not compared", "TRBV19 CASSIRSSYEQYF TRBJ2-7")
    assert (row["antigen_gene"], row["antigen_species"], row["mhc"]) == ("M1&#44; matrix", "", "HLA-A*02")
    assert (row["nearest_antigen"], row["nearest_mhc"]) == ("M1&#44; Influenza A", "HLA-A*02")
    assert row["study"] == (
        "<a href='https://pubmed.ncbi.nlm.nih.gov/1/' target='_blank' rel='noopener noreferrer'>PMID:1</a>"
    )
    assert list(row) == list(top["headers"])
    assert list(row)[-2:] == ["id", "nearest_id"]
    assert (row["id"], row["nearest_id"]) == ("r1", "r2")


def test_the_hla_of_donors_shows_what_it_excludes(folder):
    sample = json.loads((folder / "x.annotation.qc.json").read_text())
    (group,) = sample["groups"]
    groups = [{**group, "candidates": 1200, "excluded": 3, "unknown": 1}]
    excluded = {"<i>": 2, **{f"P{number}": 1 for number in range(6)}, "12e4": 9}
    typed = {"sample_id": "y", "hla": "A*02:01;B*07", "groups": groups, "excluded": excluded}
    (folder / "y.annotation.qc.json").write_text(json.dumps({**sample, **typed}))
    sections = report_annotation.annotation_sections(read(folder))
    (shown,) = (section for section in sections if section["id"] == "airrvec_annotation_hla")
    assert shown["data"] == {
        "y": {
            "hla": "A*02:01; B*07",
            "left_homosapiens_paired": "1&#44;197 of 1&#44;200",
            "excluded": 17,
            "epitopes": "12e4 9&#44; &lt;i&gt; 2&#44; P0 1&#44; P1 1&#44; P2 1&#44; and 3 other epitopes",
        }
    }
    assert list(shown["data"]["y"]) == list(shown["headers"])
    assert "1 sample without HLA" in shown["description"]


def test_points_of_lines_stand_in_the_order_of_numbers(folder):
    """MultiQC reads the keys of JSON as words, and 9 % would come after 10 %."""
    annotation = read(folder)
    shares = [0.00004, 0.005, 0.09, 0.1, 0.95, 1.0]
    rows = [annotation.calibration.iloc[0].to_dict() | {"probability": share} for share in shares]
    annotation = replace(annotation, calibration=pd.DataFrame(rows))
    reliability = report_annotation.annotation_sections(annotation)[3]
    keys = list(reliability["data"]["α and β chains"])
    assert keys == sorted(keys)
    assert [float(key) for key in keys] == pytest.approx(shares, abs=5e-5)


def test_species_are_named_where_there_are_several(folder):
    qc = json.loads((folder / "calibration.qc.json").read_text())
    mouse = [{**group, "species": "musmusculus"} for group in qc["groups"]]
    (folder / "calibration.qc.json").write_text(json.dumps({**qc, "groups": qc["groups"] + mouse}))
    counts, _, top, reliability, _ = report_annotation.annotation_sections(read(folder))
    assert "α chains alone, mouse: not calibrated" in counts["description"]
    assert top["data"]["x, 001"]["chains"] == "α and β chains, human"
    assert "α and β chains, human" in reliability["data"]


def test_the_answer_counts_calls_and_escapes_words(folder):
    assert report_annotation.annotation_answer(read(folder)) == (
        "An epitope is called for 2 of 10 receptors: &lt;b&gt; 2."
        " Of these calls, 0.1 are expected to be false."
    )


def test_what_is_not_calibrated_is_in_the_answer_and_on_the_terminal(folder):
    found = read(folder)
    sample = {**found.samples[0], "calls": {"not calibrated": 10}, "epitopes": []}
    answer = report_annotation.annotation_answer(replace(found, samples=[sample]))
    assert answer == (
        "No epitope is called for any of 10 receptors."
        " 10 receptors are of a class of chains that could not be calibrated."
    )
    assert (
        "Note: α chains alone: not calibrated, no calls (no epitope has 10 references); scores, best epitopes"
        " and nearest references are in the tables"
    ) in report_annotation.annotation_lines(found)


def test_the_terminal_says_what_is_expected_to_be_false(folder):
    lines = report_annotation.annotation_lines(read(folder))
    assert lines[1].split() == ["x", "10", "2", "0.1"]  # 0.15, rounded to even
    assert sum(line.startswith("Note: ") for line in lines) == 2


def test_of_many_samples_the_terminal_shows_those_with_most_calls(folder):
    found = read(folder)
    (sample,) = found.samples
    many = [
        {**sample, "sample_id": f"s{number}", "calls": {"called": number}, "receptors": 100}
        for number in range(300)
    ]
    lines = report_annotation.annotation_lines(replace(found, samples=many))
    assert lines[0] == "300 samples; the 10 with most calls:"
    assert [line.split()[0] for line in lines[2:12]] == [f"s{number}" for number in range(299, 289, -1)]
    assert lines[12].split()[:4] == ["all", "300", "30,000", f"{sum(range(300)):,}"]
    assert len(lines) == 13 + sum(line.startswith("Note: ") for line in lines)


def test_a_run_without_annotation_has_no_section(tmp_path):
    assert report_annotation.read_annotation(tmp_path, tmp_path) is None


class Cells(HTMLParser):
    """Links and texts of the table of calls in a page of MultiQC."""

    def __init__(self, page: str):
        super().__init__()
        self.cells, self.links, self.column, self.elements = {}, [], None, set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "td":
            self.column = attributes["class"].split()[-1]
        if self.column:
            self.elements.add(tag)
            self.links += [attributes.get("href")] * (tag == "a")

    def handle_endtag(self, tag):
        self.column = None if tag == "td" else self.column

    def handle_data(self, data):
        if self.column:
            self.cells[self.column] = self.cells.get(self.column, "") + data


def test_a_score_that_is_not_trained_is_named(folder):
    (counts, *_) = report_annotation.annotation_sections(read(folder))
    assert "too few labelled receptors to learn" not in counts["description"]
    calibration = json.loads((folder / "calibration.qc.json").read_text())
    calibration["groups"][0]["trained"] = False
    (folder / "calibration.qc.json").write_text(json.dumps(calibration))
    (counts, *_) = report_annotation.annotation_sections(read(folder))
    assert "to learn the weights of single chains and genes: α and β chains." in counts["description"]


def test_hostile_words_pass_through_multiqc_as_words(folder):
    """What MultiQC makes of the cells: words as they were, links to the given addresses, nothing else."""
    hostile = "</td><script>alert('x, y')</script>\"&lt"
    studies = f"{hostile};https://x.org/a,b?c='1'&d=2;javascript:alert(1)"
    words = {"epitope": hostile, "antigen_gene": "12e45", "nearest_1_study": studies}
    words |= {"receptor_id": "123456789012345678901234", "nearest_1_id": "1e2"}
    write_calls(folder, "x", [{**CALL, **words}])
    top = report_annotation.annotation_sections(read(folder))[2]
    content = folder / "content"
    tables.write_json(top, content / f"{top['id']}_mqc.json")
    command = [sys.executable, "-m", "multiqc", "--config", str(ROOT / "assets/multiqc_config.yml")]
    command += ["--outdir", str(folder), "--filename", "page.html", "--no-version-check", str(content)]
    subprocess.run(command, check=True, capture_output=True)
    page = (folder / "page.html").read_text()
    table = page[page.index('id="airrvec_annotation_top_plot_table"') :]
    found = Cells(table[: table.index("</table>")])
    assert found.elements <= {"td", "a", "div", "span"}
    assert found.links == ["#airrvec_clones?search=CASSIRSAYEQYF", "https://x.org/a,b?c='1'&d=2"]
    assert found.cells["epitope"] == hostile
    assert found.cells["antigen_gene"] == "12e45"
    assert (found.cells["id"], found.cells["nearest_id"]) == ("123456789012345678901234", "1e2")
    assert found.cells["study"] == f"{hostile}; x.org/a,b?c='1'&d=2; javascript:alert(1)"
    assert found.cells["tra"] == "TRAV27 CAGAGSQGNLIF TRAJ42"
    evidence = found.cells["evidence"].replace("\N{NO-BREAK SPACE}", " ")
    assert evidence == "β chain strong, SCEPTR some"


def test_what_the_reference_can_find_comes_before_the_calls(folder):
    qc = json.loads((folder / "calibration.qc.json").read_text())
    qc["groups"][0]["outlook"] = ["2 of 3 epitopes have enough references", "<E>: 12 references; nothing"]
    qc["groups"][1]["outlook"] = ["of α chains, which no sample has"]
    same = [{"study": name, "same_as": "PMID:1"} for name in ("PMID:1", "mine")]
    qc |= {"suspects": 3, "suspect_labels": {"contradicted": 3}, "same_studies": same}
    (folder / "calibration.qc.json").write_text(json.dumps(qc))
    names = schema.ANNOTATION_EPITOPES.names
    rows = [
        {
            **PAIRED,
            "epitope": "<E>",
            "n_references": 12,
            "n_studies": 2,
            "n_tested": 10,
            "outlook": "nothing",
        },
        {**PAIRED, "epitope": "few", "n_references": 2, "outlook": "never called"},
        {**PAIRED, "chains": "alpha", "epitope": "other", "n_references": 50, "outlook": "found"},
        {**PAIRED, "epitope": "large", "n_references": 90, "n_studies": 3, "n_tested": 0, "outlook": "found"},
    ]
    rows = [{**dict.fromkeys(names), **row} for row in rows]
    tables.write(pa.Table.from_pylist(rows, schema.ANNOTATION_EPITOPES), folder / "epitopes.parquet")
    annotation = read(folder)
    first, counts, *_ = report_annotation.annotation_sections(annotation)
    assert first["id"] == "airrvec_annotation_holes"
    assert [*first["data"]] == ["01. large", "02. &lt;E&gt;"]
    assert first["data"]["02. &lt;E&gt;"]["n_references"] == 12
    assert "&lt;E&gt;: 12 references; nothing" in first["description"]
    assert "α chains, which" not in first["description"]
    assert "3 suspect labels in the reference: 3 contradicted" in counts["description"]
    lines = report_annotation.annotation_lines(annotation)
    assert lines[0] == "1 study is the same as others: mine = PMID:1"
    assert lines[1] == "3 suspect labels in the reference: 3 contradicted"
    assert lines[2].endswith("2 of 3 epitopes have enough references")
    assert lines[4].startswith("Sample ")
