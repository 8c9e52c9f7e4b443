"""The scripts of the analyses, from receptors to the report."""

import csv
import json

from airrvec import analyses
from airrvec.analyses import coincidence
from airrvec.core import tables
from airrvec.encoders import Titles
from airrvec.report.sections import analyses as report_analyses

import pyarrow as pa
import pytest
from inputs import ROOT, normalised
from toy_material import labelled, of


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The options of the demonstration's labelled receptors."""
    folder = tmp_path_factory.mktemp("demo")
    result = normalised(ROOT / "assets/demo/dash_human.csv", "tcrdist")
    tables.write(result.cells, folder / "cells.parquet")
    tables.write(result.receptors, folder / "receptors.parquet")
    own = ["--cells", folder / "cells.parquet", "--receptors", folder / "receptors.parquet"]
    return [*own, "--analysis-receptors", 60, "--benchmark-min-positives", 30]


def rows_of(path) -> list[dict]:
    with path.open() as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


@pytest.mark.parametrize(
    "name", [name for name in analyses.ANALYSES if name not in ("fine_tuning", "complexity")]
)
def test_every_analysis_from_receptors_to_the_report(script, demo, tmp_path, name):
    more = []
    if name == "generation":
        script("analyse_generation", *demo)
        assert len(tables.read("generation_probability.parquet")) == 60
        more = ["--generation", "generation_probability.parquet"]
    scope = analyses.load(name).SCOPE
    chosen = ["sceptr", "cdr3_levenshtein"] if scope == analyses.EACH_ENCODER else [None]
    for encoder in chosen:
        script(
            "analyse_receptors",
            *demo,
            "--analysis",
            name,
            *more,
            *(["--encoder", encoder] if encoder else []),
        )
    files = sorted(tmp_path.glob("*.measured.parquet"))
    assert len(files) == len(chosen)
    script("analyse_results", *files, "--analysis", name, "--encoders", "sceptr,cdr3_levenshtein")
    table = tables.read(f"{name}.parquet")
    assert table.schema.remove_metadata() == analyses.load(name).SCHEMA
    assert len(table) == len(rows_of(tmp_path / f"{name}.tsv")) > 0
    assert (tmp_path / f"{name}.png").stat().st_size > 5000
    if name == "alignment":
        assert rows_of(tmp_path / "alignment_not_done.tsv") == [
            {"analysis": name, "encoder": "cdr3_levenshtein", "reason": "it gives distances, and no vectors"}
        ]
    else:
        assert not (tmp_path / f"{name}_not_done.tsv").exists()
    (section,) = report_analyses.analysis_sections(tmp_path, Titles())
    assert section["id"] == f"airrvec_analysis_{name}"
    assert "paper" in section["description"]
    json.dumps(section)


def test_sizes_stand_beside_the_auroc(script, demo, tmp_path):
    script("analyse_receptors", *demo, "--analysis", "complexity", "--encoder", "sceptr")
    row = {"encoder": "sceptr", "rule": "nearest_neighbour", "epitope": "mean", "k": 5, "auroc_mean": 0.75}
    tables.write(pa.Table.from_pylist([row]), tmp_path / "auroc_summary.parquet")
    measured = "complexity.sceptr.measured.parquet"
    script("analyse_results", measured, "--analysis", "complexity", "--auroc", "auroc_summary.parquet")
    (found,) = tables.read("complexity.parquet").to_pylist()
    assert (found["auroc"], found["k"], found["n_dimensions"]) == (0.75, 5, 64)
    assert found["n_parameters"] == 151_808
    (section,) = report_analyses.analysis_sections(tmp_path, Titles())
    assert section["data"] == {"SCEPTR": {"x": 151_808, "y": 0.75}}
    script("analyse_results", measured, "--analysis", "complexity")
    assert "no epitope was evaluated" in rows_of(tmp_path / "complexity_not_done.tsv")[0]["reason"]


@pytest.mark.parametrize("name", analyses.ANALYSES)
def test_an_analysis_without_labelled_receptors_says_so(script, tmp_path, name):
    script("analyse_results", "--analysis", name)
    assert len(tables.read(f"{name}.parquet")) == 0
    (row,) = rows_of(tmp_path / f"{name}_not_done.tsv")
    assert row["reason"] == "there is no labelled receptor table (--labelled)"
    assert not (tmp_path / f"{name}.png").exists()
    (section,) = report_analyses.analysis_sections(tmp_path, Titles())
    assert "no labelled receptor table" in section["description"]


@pytest.mark.parametrize("name", analyses.ANALYSES)
def test_too_few_receptors_are_a_reason(script, demo, tmp_path, name):
    cells = tables.read(demo[1])
    tables.write(cells.slice(0, 12), tmp_path / "few.parquet")
    script(
        "analyse_receptors", "--cells", "few.parquet", *demo[2:], "--analysis", name, "--encoder", "sceptr"
    )
    script("analyse_results", f"{name}.sceptr.measured.parquet", "--analysis", name)
    (row,) = rows_of(tmp_path / f"{name}_not_done.tsv")
    assert "complete receptors" in row["reason"]
    assert row["encoder"] == "sceptr"


def test_one_study_alone_is_a_reason_of_fine_tuning(script, demo, tmp_path):
    script("analyse_receptors", *demo, "--analysis", "fine_tuning", "--encoder", "sceptr")
    assert "stud" in tables.metadata("fine_tuning.sceptr.measured.parquet")["reason"]


def test_the_report_shows_no_markup_of_the_users(tmp_path):
    chosen = labelled(60)
    chosen.epitopes["<b>A</b>"] = chosen.epitopes.pop("A")
    tables.write(coincidence.measure(of(chosen)), tmp_path / "coincidence.parquet")
    (section,) = report_analyses.analysis_sections(tmp_path, Titles())
    assert "<b>" not in json.dumps(section)
    assert "&lt;b&gt;A" in json.dumps(section)
