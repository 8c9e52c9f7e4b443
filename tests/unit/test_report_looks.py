"""Colours of the report: what differs in a figure looks different."""

from airrvec.figures.palette import COLOURS
from airrvec.report import looks
from airrvec.report.sections import comparison, rarefaction, sample_genes

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

NAMES = [f"s{n:02d}" for n in range(40)]


@given(st.lists(st.sets(st.sampled_from(NAMES), max_size=14).map(sorted), max_size=3))
def test_no_two_names_of_a_tab_look_alike(tabs):
    chosen = looks.looks(tabs, looks.DASHES)
    for names in tabs:
        assert len({chosen[name] for name in names}) == len(names)
    if tabs:
        assert [style for _, style in map(chosen.get, tabs[0])] == [
            looks.DASHES[number // len(COLOURS)] for number in range(len(tabs[0]))
        ]


def test_too_many_names_are_an_error():
    with pytest.raises(ValueError, match="14 looks are too few"):
        looks.looks([NAMES[:15]], ("solid", "dot"))


def lines_of(section: dict) -> list[list[tuple]]:
    """The colour and dash of each line, for each tab."""
    settings = section["pconfig"]
    return [
        [(settings["colors"][name], settings["dash_styles"][name]) for name in tab] for tab in section["data"]
    ]


def test_lengths_of_two_loci_have_different_lines():
    rows = [
        {"sample_id": name, "species": "homosapiens", "locus": locus, "length": 20 + n if n in odd else 12}
        for locus, odd in (("TRA", range(13)), ("TRB", range(8, 21)))
        for n, name in enumerate(NAMES)
    ]
    lengths = pd.DataFrame(rows).assign(n_cells=50, cell_share=1.0, count_unit="cells")
    section = sample_genes.lengths_section(lengths)
    assert [len(tab) for tab in section["data"]] == [sample_genes.MAX_LINES] * 2
    assert set(section["data"][0]) != set(section["data"][1])
    for looked in lines_of(section):
        assert len(set(looked)) == sample_genes.MAX_LINES > len(COLOURS)
    assert "Samples with the same colour differ in their dashes." in section["description"]
    few = sample_genes.lengths_section(lengths[lengths["sample_id"].isin(NAMES[:7])])
    assert {dash for looked in lines_of(few) for _, dash in looked} == {"solid"}
    assert "dashes" not in few["description"]


def test_rarefaction_curves_and_predictions_differ():
    about = {"species": "homosapiens", "chains": "paired", "count_unit": "cells"}
    diversity = pd.DataFrame(
        [{"sample_id": name, "n_cells": 10 + n, **about} for n, name in enumerate(NAMES)]
    )
    diversity["hill_1"] = diversity["hill_1_at_coverage"] = diversity["n_cells"]
    points = [(1, "rarefied"), (10, "observed"), (20, "extrapolated")]
    curves = pd.DataFrame(
        [
            {"sample_id": name, **about, "n_drawn": n, "method": method, "coverage": n / 30}
            for name in NAMES
            for n, method in points
        ]
    ).assign(hill_0=1.0, hill_1=1.0, hill_2=1.0)
    (section,) = rarefaction.rarefaction_sections(curves, diversity, [about])
    for looked in lines_of(section):
        assert len(set(looked)) == len(looked) == 2 * rarefaction.MAX_LINES
    assert "Of samples with broken lines, the predicted part is dotted." in section["description"]


def test_ten_conditions_and_none_have_different_points():
    rows = pd.DataFrame({"sample_id": NAMES, "group": "both", "pc_1": range(40), "pc_2": 0.0})
    rows = rows.assign(pc_1_explained=0.5, pc_2_explained=0.25)
    of_sample = {name: f"v{n % 10}" for n, name in enumerate(NAMES[:30])}
    counts = {"of_sample": of_sample, "condition": "day"}
    section = comparison._components(comparison.Comparison(counts, rows, rows, rows, 0))
    ((tab,), groups) = section["data"], {}
    for name, point in tab.items():
        assert point["group"] == of_sample.get(name, "no day")
        groups.setdefault(point["group"], set()).add((point["color"], point["marker_symbol"]))
    assert len(groups) == 11
    assert [len(look) for look in groups.values()] == [1] * 11
    assert len(set.union(*groups.values())) == 11
