"""Rarefaction in the report: each sample by the class of chains in which it has most cells."""

from airrvec.report.page import group_titles, with_group_titles
from airrvec.report.sections import rarefaction

import pandas as pd
import pytest

GROUPS = [{"species": "homosapiens", "chains": chains} for chains in ("paired", "beta", "alpha")]
# Single-cell samples with a few β chains alone, a bulk sample of UMIs, one that has as many of two classes.
CELLS = [
    *[("sc1", "paired", "cells", 300), ("sc1", "beta", "cells", 40), ("sc1", "alpha", "cells", 12)],
    *[("sc2", "beta", "cells", 50), ("sc2", "paired", "cells", 280)],
    *[("tie", "beta", "cells", 30), ("tie", "paired", "cells", 30)],
    ("<bulk>", "beta", "UMIs", 9000),
    ("one", "alpha", "cells", 1),
]


def diversity(rows: list[tuple] = CELLS) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["sample_id", "chains", "count_unit", "n_cells"])
    frame = frame.assign(species="homosapiens", hill_1=frame["n_cells"] / 2.0)
    frame["hill_1_at_coverage"] = frame["hill_1"]
    return with_group_titles(frame, group_titles(GROUPS))


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Three points of each class of a sample: all, fewer, and more than it has."""
    points = []
    for number, row in enumerate(rows.to_dict("records"), 1):
        n = row["n_cells"]
        drawn = [(1, "rarefied"), (n, "observed"), (2 * n, "extrapolated")] if n > 1 else [(1, "observed")]
        points += [
            {
                **{name: row[name] for name in ("sample_id", "species", "chains", "count_unit")},
                **{"n_drawn": x, "method": method, "coverage": x / (3 * n)},
                **{f"hill_{order}": float(x) ** (0.9 - order / 10) + number for order in (0, 1, 2)},
            }
            for x, method in drawn
        ]
    return pd.DataFrame(points)


@pytest.fixture(scope="module")
def made():
    rows = diversity()
    return curves(rows), rarefaction.rarefaction_sections(curves(rows), rows, GROUPS)


def test_each_sample_is_drawn_once_by_the_chains_it_mostly_has(made):
    table, sections = made
    drawn = {part["section_name"]: set(part["data"][0]) for part in sections}
    assert drawn == {
        "Rarefaction, α and β chains, cells": {
            name + end for name in ("sc1", "sc2", "tie") for end in ("", ", predicted")
        },
        "Rarefaction, β chains alone, UMIs": {"&lt;bulk&gt;", "&lt;bulk&gt;, predicted"},
    }
    assert sections[0]["id"] == "airrvec_repertoire_rarefaction"
    assert [part["description"].count("a single count: one.") for part in sections] == [1, 0]
    assert "Not comparable with the curves of β chains alone, UMIs</strong>" in sections[0]["description"]
    assert "1 sample, by the class of chains that most of its UMIs have" in sections[1]["description"]
    for part, unit in zip(sections, ("Cells", "UMIs"), strict=True):
        assert part["pconfig"]["xlab"] == unit
        assert "<strong>Not comparable with the curves of" in part["description"]
    points = table[(table["sample_id"] == "sc2") & (table["chains"] == "paired")].set_index("n_drawn")
    assert sections[0]["data"][1]["sc2"] == [[n, points.loc[n, "hill_1"]] for n in (1, 280)]
    shares = (100 * points["coverage"]).loc[[280, 560]].tolist()
    assert sections[0]["data"][5]["sc2, predicted"] == [
        [pytest.approx(share), points.loc[n, "hill_2"]] for share, n in zip(shares, (280, 560), strict=True)
    ]


def test_samples_of_one_class_have_one_figure_without_a_warning():
    rows = diversity([row for row in CELLS if row[0] in ("sc1", "sc2")])
    (section,) = rarefaction.rarefaction_sections(curves(rows), rows, GROUPS)
    assert section["section_name"] == "Rarefaction"
    assert "Not comparable" not in section["description"]


def test_a_sample_of_a_single_cell_is_named():
    rows = diversity([("a", "paired", "cells", 30), ("<one>", "paired", "cells", 1)])
    (section,) = rarefaction.rarefaction_sections(curves(rows), rows, GROUPS)
    assert set(section["data"][0]) == {"a", "a, predicted"}
    assert "No curve, because of a single count: &lt;one&gt;." in section["description"]
    assert "Not comparable" not in section["description"]


def test_without_a_curve_there_is_no_figure():
    rows = diversity([("one", "paired", "cells", 1)])
    assert rarefaction.rarefaction_sections(curves(rows), rows, GROUPS) == []
