"""The order of the report, its words, and terms that are explained."""

import runpy
from dataclasses import replace

from airrvec.core import schema
from airrvec.encoders import Titles
from airrvec.report import chapters, page, readings
from airrvec.report.sections import brief, conditions, methods, quality
from airrvec.report.sections.annotation import Annotation
from airrvec.report.sections.pathogens import NOT_NAMED, pathogens_figure, pathogens_section

import pytest
import yaml
from inputs import ROOT
from test_report import EMBEDDINGS, RECEPTORS, SAMPLE

CONFIG = ROOT / "assets/multiqc_config.yml"


def test_multiqc_has_the_order_of_the_chapters():
    config = CONFIG.read_text()
    assert (
        runpy.run_path(str(ROOT / "docs/report_order.py"))["with_order"](config) == config
    )  # make generated
    # MultiQC reads them in this order: equal places would be sorted by chance.
    order = yaml.safe_load(config)["report_section_order"]
    for chapter in chapters.CHAPTERS:
        places = [order[id]["order"] for id in chapter.sections]
        assert places == sorted(set(places))
        assert max(places) < 0


def test_chapters_are_in_the_order_of_a_reader():
    assert [chapter.title for chapter in chapters.CHAPTERS] == [
        "In brief", "Clones", "Samples", "γδ T cells", "What they recognise", "Which belong together",
        "What differs", "Model and benchmark", "Methods",
    ]  # fmt: skip
    listed = [id for chapter in chapters.CHAPTERS for id in chapter.sections]
    assert len(listed) == len(set(listed))


def test_each_measure_has_a_title():
    assert {*conditions.TITLES} == {*schema.MEASURES} >= {*conditions.SHARES}
    assert {*conditions.TOLD_TITLES, "sheet"} == {*schema.TOLD_BY} >= {*conditions.CONFOUNDERS}


@pytest.mark.parametrize(
    ("id", "title"),
    [
        ("airrvec_samples", "Samples"),
        ("airrvec_samples_new", "Samples"),
        ("airrvec_repertoire_trbv_mouse", "Samples"),
        ("airrvec_gamma_delta_trdv_mouse", "γδ T cells"),
        ("airrvec_conditions_tests", "What differs"),
        ("airrvec_clusters_new", "Which belong together"),
        ("airrvec_annotation_new", "What they recognise"),
        ("airrvec_methods_text", "Methods"),
        ("airrvec_anything", "Model and benchmark"),
    ],
)
def test_every_section_has_a_chapter(id, title):
    assert chapters.chapter_of(id).title == title


def test_sections_are_placed_and_read():
    names = ("airrvec_methods_text", "airrvec_samples_b", "airrvec_samples_a", "airrvec_rejects")
    names += ("airrvec_samples", "airrvec_brief_findings")
    made = [page.section(name, name, "Rows of AUROC and AUROC", "bargraph", {"x": 1}) for name in names]
    found = chapters.placed(made)
    assert [part["id"] for part in found] == [
        "airrvec_brief_findings", "airrvec_samples", "airrvec_rejects", "airrvec_samples_b",
        "airrvec_samples_a", "airrvec_methods_text",
    ]  # fmt: skip
    assert [part["parent_name"] for part in found] == ["In brief", *["Samples"] * 4, "Methods"]
    rejected = found[2]["description"]
    assert f"<strong>See:</strong> {readings.READINGS['airrvec_rejects'].see}</span>" in rejected
    assert "<strong>Not a share of cells:</strong> one cell may have" in rejected
    copied = chapters.placed([{**made[0], "id": "airrvec_brief_figure", "read_as": "airrvec_roc"}])[0]
    assert readings.READINGS["airrvec_roc"].doubt.partition(":")[2] in copied["description"]
    assert "read_as" not in copied
    # Explained once in each chapter.
    assert [part["description"].count("<abbr") for part in found] == [1, 1, 0, 0, 0, 1]


def test_each_figure_has_a_reading_of_two_sentences():
    listed = {id for chapter in chapters.CHAPTERS for id in chapter.sections}
    assert set(readings.READINGS) <= listed
    for reading in readings.READINGS.values():
        for words in reading:
            assert words.endswith(".")
            assert words.count(". ") == 0
        assert reading.doubt.count(":") == 1


def test_terms_are_explained_at_their_first_mention():
    seen = set()
    html = '<p>AUROCs, an <a href="#x">FDR</a>, <code>FDR</code>, the FDR, FDR, hill numbers, XFDR</p>'
    found = readings.explained(html, seen)
    assert seen == {"AUROC", "FDR", "Hill number"}
    assert found.count("<abbr") == 3
    assert (
        f'title="{readings.TERMS["AUROC"]}">AUROC</abbr>s, an <a href="#x">FDR</a>, <code>FDR</code>' in found
    )
    assert found.endswith(">hill number</abbr>s, XFDR</p>")
    assert readings.explained("AUROC", seen) == "AUROC"
    for words in readings.TERMS.values():
        assert not set('<>"&') & set(words)
        assert words.endswith(".")


def test_rejected_rows_are_grey_unless_unusual():
    usual = {**SAMPLE, "rows_in": 1000, "reject_reasons": {"the chain is not productive": 400, "odd": 9}}
    colours = quality.reject_colours([usual], "reject_reasons")
    assert all(len({colour[1:3], colour[3:5], colour[5:]}) == 1 for colour in colours.values())
    unusual = {**usual, "reject_reasons": {"the chain is not productive": 400, "odd": 10}}
    colours = quality.reject_colours([usual, unusual], "reject_reasons")
    assert list(colours) == ["the chain is not productive", "odd"]
    assert colours["odd"] == "#0072B2"
    warned = {**unusual, "warnings": ["41.0 % of the rows rejected (400 × x)", "other"]}
    assert quality.unusual_warnings(warned) == warned["warnings"]
    assert quality.unusual_warnings({**warned, "reject_reasons": {}}) == ["other"]
    assert quality.warnings_text([warned]).count("<strong>") == 2
    folded = quality.warnings_text([warned] * 7)
    assert folded.startswith("<details><summary>14 warnings</summary>")
    noted = quality.warnings_text([{**warned, "reject_reasons": {}}])
    assert noted.startswith(
        "<br><strong>&lt;b&gt;s&lt;/b&gt;: other</strong><details><summary>1 note on usual"
    )


@pytest.mark.parametrize(
    ("changes", "doubts"),
    [
        ({}, []),
        ({"abundance": 99}, ["only 99 cells"]),
        ({"abundance": 1, "count_unit": "copies"}, ["only 1 copy"]),
        ({"pairing": {"single pair": 50, "orphan VJ": 50}}, []),
        ({"pairing": {"single pair": 49, "orphan VDJ": 51}}, ["49 % paired"]),
        ({"pairing": {"orphan VDJ": 100}, "count_unit": "reads"}, []),
        ({"pairing": {"single pair": 95, "multichain": 5}}, []),
        ({"pairing": {"single pair": 94, "multichain": 6}}, ["6 % probably doublets"]),
        ({"warnings": ["odd", "41 % of the rows rejected (400 × x)"]}, ["1 warning"]),
        ({"cells": 0, "abundance": 0, "pairing": {}}, ["no receptors"]),
    ],
)
def test_a_sample_is_good_or_says_why_not(changes, doubts):
    """At the bounds of the rules."""
    plain = {"cells": 100, "abundance": 100, "count_unit": "cells", "pairing": {"single pair": 100}}
    sample = {**SAMPLE, **plain, "warnings": [], "reject_reasons": {}, **changes}
    assert quality.doubts(sample) == doubts
    assert quality.verdict(sample) == (", ".join(doubts) or "good")
    good = {**SAMPLE, **plain, "warnings": [], "reject_reasons": {}, "sample_id": "x"}
    words = quality.verdicts_sentence([good, sample])
    expected = f"1 of 2 are good, but look at &lt;b&gt;s&lt;/b&gt; ({', '.join(doubts)})."
    assert words == (expected if doubts else "All 2 are good.")


def test_few_of_many_doubtful_samples_are_named():
    many = [{**SAMPLE, "abundance": 1, "count_unit": "cells", "warnings": []}] * 7
    assert quality.verdicts_sentence(many).startswith("Look at &lt;b&gt;s&lt;/b&gt; (only 1 cell)")
    assert quality.verdicts_sentence(many).endswith("; and 2 more.")


def annotation_of(*rows) -> Annotation:
    """One sample, ``x``, with called epitopes, and one without any, ``y``."""
    epitopes = [
        dict(zip(("epitope", "antigen_species", "receptors", "abundance"), row, strict=True)) for row in rows
    ]
    sample = {"fdr": 0.1, "receptors": 10, "count_unit": "cells", "groups": [], "calls": {}, "epitopes": []}
    samples = [{**sample, "sample_id": "x", "epitopes": epitopes}, {**sample, "sample_id": "y"}]
    return Annotation(samples, {"groups": []}, None, None, {})


def test_calls_are_counted_by_pathogen_and_epitope():
    annotation = annotation_of(("A<", "CMV", 3, 4), ("B", None, 5, 5), ("C,D", "CMV", 1, 1))
    rows = pathogens_section(annotation)["data"]
    links = [row.pop("clones") for row in rows.values()]
    assert links[1] == "<a href='#airrvec_clones?search=A%3C'>clones</a>"
    assert list(rows.values()) == [
        {"epitope": "B", "pathogen": NOT_NAMED, "receptors": 5, "abundance": 5, "samples": 1},
        {"epitope": "A&lt;", "pathogen": "CMV", "receptors": 3, "abundance": 4, "samples": 1},
        {"epitope": "C&#44;D", "pathogen": "CMV", "receptors": 1, "abundance": 1, "samples": 1},
    ]
    other = {**annotation.samples[1], "sample_id": "z", "count_unit": "reads"}
    mixed = pathogens_section(replace(annotation, samples=[*annotation.samples, other]))
    assert mixed["headers"]["abundance"]["title"] == "Cells or reads"
    assert {row["abundance"] for row in mixed["data"].values()} == {None}
    figure = pathogens_figure(annotation, "f")
    assert figure["data"] == {"x": {NOT_NAMED: 5, "CMV": 4}}
    assert "1 sample has no call and no bar" in figure["description"]
    unnamed = pathogens_figure(annotation_of(("A<", None, 3, 4), ("B", None, 5, 5)), "f")
    assert unnamed["data"] == {"x": {"B": 5, "A&lt;": 3}}
    many = pathogens_figure(annotation_of(*[(f"e{n}", f"p{n}", 9 - n, 1) for n in range(9)]), "f")
    assert many["data"]["x"]["3 others"] == 3 + 2 + 1
    assert pathogens_section(annotation_of()) is None


def test_the_brief_says_what_was_found_and_what_is_doubtful():
    small = {**SAMPLE, "abundance": 5, "count_unit": "cells"}
    missing = [{"part": "map", "name": "all_samples", "reason": "x"}]
    found = {"annotation": annotation_of(("A", "CMV", 3, 4))}
    words = brief.brief_section([small], RECEPTORS, found, Titles(), missing=missing, unavailable={"map"})[
        "data"
    ]
    assert "1 table with 5 cells or clonotypes was read." in words
    assert f" Look at &lt;b&gt;s&lt;/b&gt; (only 5 cells, {len(SAMPLE['warnings'])} warning)." in words
    assert "1 sample has 1,234 distinct receptors." in words
    assert "80 % of the cells have an α and a β chain." in words
    assert "At a false discovery rate of 10 %: an epitope is called for 3 of 20 receptors: A 3." in words
    bulk = {**SAMPLE, "pairing": {"orphan VDJ": 5}}
    assert brief.brief_section([bulk], RECEPTORS, {}, Titles())["data"].count("both chains") == 0
    assert '1 part could not be made (map): <a href="#airrvec_missing">why</a>.' in words
    assert "Not requested: <code>--cluster</code>, <code>--compare</code>." in words
    assert words.count("<li") == 3


def test_the_methods_say_what_the_run_did_and_no_more():
    versions = '"A:B":\n    python: "3.11"\n    numpy: "2"\n"A:C":\n    python: "3.11"\n'
    text, references, table = methods.methods_sections(
        [SAMPLE], EMBEDDINGS, {}, Titles(), versions, "24.10.0"
    )
    assert "1 table (10x) was read" in text["data"]
    assert "(Nagano et al. 2025)" in text["data"]
    assert "[" not in text["data"]
    assert references["data"].count("<li>") == 6
    assert "Leiden" not in text["data"] + references["data"]
    assert "<td>python</td><td>3.11</td><td>B, C</td>" in table["data"]
    assert table["data"].startswith("<details><summary>Versions of 2 packages</summary>")


def test_works_are_those_of_the_citations():
    citations = (CONFIG.parents[1] / "CITATIONS.md").read_text()
    for work in methods.WORKS.values():
        assert work.doi in citations
        assert work.full.split(". ")[1].strip() in citations


def test_every_figure_has_a_reading():
    """Sections without one: text, tables of facts, and those that carry both sentences themselves."""
    listed = {id for chapter in chapters.CHAPTERS for id in chapter.sections}
    without = {id.removeprefix("airrvec_") for id in listed - set(readings.READINGS)}
    assert without == {
        *("brief_findings", "brief_figure", "missing", "differences", "comparison_public"),
        *("embeddings", "not_evaluated", "methods_text", "methods_references", "methods_versions"),
        *(id.removeprefix("airrvec_") for id in listed if id.startswith("airrvec_repertoire_")),
        *(f"gamma_delta_{genes}" for genes in ("trdv", "trdj", "trgv", "trgj")),
    }
    assert set(readings.READINGS) <= listed
