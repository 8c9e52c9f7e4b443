"""Clones of a donor in two samples and over time: what is drawn equals pandas on the same tables."""

from itertools import pairwise

from airrvec.core import schema, tables
from airrvec.report.sections import shared_clones
from airrvec.report.sections.shared_clones import ALIKE, LESS, MORE

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from drawn import elements

# Cells of each clone: p1 on days 0, 7 (two samples) and 28, p2 in two samples of different units.
SAMPLES = ["p1_0", "p1_7a", "p1_7b", "p1_28", "p2_0", "p2_7"]
CELLS = pd.DataFrame(
    {
        "up": [2, 20, 20, 30, 0, 0],
        "new": [0, 0, 0, 12, 0, 0],
        "down": [40, 2, 1, 0, 0, 0],
        "same": [5, 3, 2, 5, 0, 0],
        **{f"one{n}": [1, 0, 0, 0, 0, 0] for n in range(6)},
        **{f"later{n}": [0, 1, 0, 0, 0, 0] for n in range(4)},
        "no chain": [9, 9, 9, 9, 0, 0],
        "other": [0, 0, 0, 0, 7, 8],
    },
    index=SAMPLES,
).T
CHANGES = [
    *[("up", "0", "7", "expanded", 0.001), ("down", "0", "7", "contracted", 0.002)],
    *[("same", "0", "7", "persistent", 0.9), ("new", "7", "28", "new", 0.01)],
]
STEPS = [
    ("p1", "0", "7", "p1_0", "p1_7a;p1_7b", None, 1, 0, 1, 0, 1),
    ("p1", "7", "28", "p1_7a;p1_7b", "p1_28", None, 0, 1, 0, 0, 2),
    ("p2", "0", "7", "p2_0", "p2_7", "its samples count cells and <UMIs>", *[np.nan] * 5),
]


def write(folder, *, steps=STEPS, cells=CELLS):
    """The tables that the drawings are made of, with the columns that they need."""
    long = cells.rename_axis("clone_id").melt(ignore_index=False, var_name="sample_id", value_name="n_cells")
    long = long[long["n_cells"] > 0].reset_index().assign(count_unit="cells")
    tables.write(pa.Table.from_pandas(long, preserve_index=False), folder / "counts.parquet")
    samples = long.groupby("clone_id")["sample_id"].agg(list)
    clones = pd.DataFrame(
        {
            "clone_id": samples.index,
            "donor": samples.str[0].str.split("_").str[0].to_numpy(),
            "samples": samples.str.join(";").to_numpy(),
            "n_samples": samples.str.len().to_numpy(),
            "chains": ["beta" if name != "no chain" else None for name in samples.index],
            "call_epitope": ["<GIL>" if name == "up" else None for name in samples.index],
            **{field: pd.Series([None] * len(samples), dtype=object) for field in schema.RECEPTOR_FIELDS},
        }
    )
    clones["trb_junction_aa"] = "CASS" + clones["clone_id"].str.upper().str.replace(" ", "")
    types = {name: pa.string() for name in (*schema.RECEPTOR_FIELDS, "chains", "call_epitope")}
    table = pa.Table.from_pandas(clones, preserve_index=False)
    for name, kind in types.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    tables.write(table, folder / "clones.parquet")
    words = ["expanded", "new", "contracted", "lost", "persistent"]
    columns = ["donor", "before", "after", "samples_before", "samples_after", "reason"]
    frame = pd.DataFrame(steps, columns=[*columns, *(f"n_{word}" for word in words)])
    frame = frame.assign(kind="clone", condition="day").reindex(columns=schema.STEPS.names)
    tables.write(pa.Table.from_pandas(frame, schema.STEPS, preserve_index=False), folder / "steps.parquet")
    frame = pd.DataFrame(CHANGES, columns=["feature", "before", "after", "change", "fdr"])
    frame = frame.assign(kind="clone", donor="p1").reindex(columns=schema.CHANGES.names)
    frame[["n_before", "n_after"]] = 0
    tables.write(
        pa.Table.from_pandas(frame, schema.CHANGES, preserve_index=False), folder / "changes.parquet"
    )
    return folder


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = write(tmp_path_factory.mktemp("shared"))
    return shared_clones.read_shared(folder, folder)


def known() -> pd.DataFrame:
    """Cells of the clones with known chains, by day."""
    days = pd.DataFrame(
        {"0": CELLS["p1_0"], "7": CELLS[["p1_7a", "p1_7b"]].sum(axis=1), "28": CELLS["p1_28"]}
    )
    return days.drop(["no chain", "other"])


def boxes(section: dict):
    """Heading → drawing and lines of each box."""
    made = {}
    for box in elements(section["data"]).all("div"):
        if box.inside and box.inside[0].name == "strong":
            heading, drawing, lines = box.inside
            made[heading.text] = drawing, lines
    return made


def test_points_are_the_clones_with_their_counts_and_changes(results):
    first, second = shared_clones.drawn_pairs(results.pairs)
    kinds = {("up", "0"): MORE, ("down", "0"): LESS, ("new", "7"): MORE}
    for pair, (before, after) in zip((first, second), (("0", "7"), ("7", "28")), strict=True):
        expected = known()[[before, after]].set_axis(["before", "after"], axis=1)
        expected = expected[expected.sum(axis=1) > 0]
        expected["kind"] = [kinds.get((name, before), ALIKE) for name in expected.index]
        expected = expected.rename_axis("clone").reset_index()
        expected = expected.groupby(["before", "after", "kind"])["clone"].agg(sorted).reset_index()
        points = shared_clones.points(results, pair)
        assert points[["before", "after", "kind"]].equals(expected[["before", "after", "kind"]])
        assert points["clones"].map(sorted).tolist() == expected["clone"].tolist()


def test_a_point_is_at_its_shares_and_zero_at_the_edge(results):
    (section, _) = shared_clones.shared_sections(results)
    drawing, lines = boxes(section)["p1: 0 and 7"]
    assert lines.inside[0].text == "3 clones of 13 in both; 1 significantly larger, 1 smaller"
    days = known()
    share = 100 * days / days.sum()
    circles = {circle.title.split(":")[0]: circle for circle in drawing.all("circle")}
    logs, places = [], []
    for clone in ("up", "down", "same"):
        named = next(circle for title, circle in circles.items() if f"CASS{clone.upper()}" in title)
        logs.append(np.log(share.loc[clone, ["0", "7"]].to_numpy(float)))
        places.append((named.number("cx"), named.number("cy")))
    logs, places = np.array(logs), np.array(places)
    for side in (0, 1):
        slope, start = np.polyfit(logs[:, side], places[:, side], 1)
        assert (slope > 0) == (side == 0)
        np.testing.assert_allclose(places[:, side], slope * logs[:, side] + start, atol=0.15)
    only_before = circles[f"6 clones each of 1 cell ({share.loc['one0', '0']:.3g} %) and 0 cells (0 %)"]
    only_after = circles[f"4 clones each of 0 cells (0 %) and 1 cell ({share.loc['later0', '7']:.3g} %)"]
    assert only_before.number("cy") > places[:, 1].max()
    assert only_after.number("cx") < places[:, 0].min()
    assert only_before.number("r") > next(iter(circles.values())).number("r")
    colours = {
        circle.title: group.attributes["fill"] for group in drawing.all("g") for circle in group.all("circle")
    }
    of_kind = shared_clones.COLOUR_OF_KIND
    assert [colours[title] for title in colours if "larger, FDR 0.001" in title] == [of_kind[MORE]]
    assert [colours[title] for title in colours if "smaller, FDR 0.002" in title] == [of_kind[LESS]]
    assert sum(colour == of_kind[ALIKE] for colour in colours.values()) == len(colours) - 2


def test_what_is_not_comparable_is_said_and_words_are_escaped(results):
    first, second = shared_clones.shared_sections(results)
    assert "2 pairs of 3" in first["description"]
    reason = "p2, 0 → 7 (its samples count cells and &lt;UMIs&gt;)"
    assert f"Not comparable: {reason}." in first["description"]
    assert "call: &lt;GIL&gt;" in first["data"]
    assert "<GIL>" not in first["data"] + second["data"]
    assert "1 donor of 2" in second["description"]


def test_bands_are_as_high_as_the_shares(results):
    (_, section) = shared_clones.shared_sections(results)
    ((drawing, _),) = boxes(section).values()
    share = known() / known().sum()
    repeated = share[known().max(axis=1) > 1]
    expected = repeated.loc[repeated.max(axis=1).sort_values(ascending=False).index]
    (sides,) = shared_clones.drawn_donors(results.pairs).values()
    shares = shared_clones.largest_shares(results, sides)
    pd.testing.assert_frame_equal(shares, expected, check_names=False)
    groups = drawing.all("g")
    assert [group.title.split(" ? ")[1].split(" ")[0] for group in groups] == [
        f"CASS{name.upper()}" for name in shares.index
    ]
    heights = [[bar.number("height") for bar in group.all("rect")] for group in groups]
    scale = max(max(group) for group in heights) / shares.to_numpy().max()
    for group, (_, row) in zip(heights, shares.iterrows(), strict=True):
        np.testing.assert_allclose(group, scale * row[row > 0], atol=0.15)
    bands = [len(group.all("path")) for group in groups]
    assert bands == [
        sum(one > 0 or other > 0 for one, other in pairwise(row)) for row in shares.to_numpy().tolist()
    ]
    assert len({group.attributes["fill"] for group in groups}) == len(groups)


def test_without_a_condition_samples_of_a_donor_are_drawn_untested(tmp_path):
    folder = write(tmp_path, steps=STEPS[:0])
    found = shared_clones.read_shared(folder, None)
    cells = CELLS.drop("no chain")
    assert [pair.rank for pair in found.pairs] == [
        (0, int((cells[[pair.before.value, pair.after.value]] > 0).all(axis=1).sum())) for pair in found.pairs
    ]
    (section,) = shared_clones.shared_sections(found)
    assert len(boxes(section)) == shared_clones.MOST_PAIRS < len(found.pairs)
    assert "p1: p1_0 and p1_7a" in boxes(section)
    assert "not tested" in section["data"]
    assert shared_clones.read_shared(folder, folder).condition is None  # steps without a row


def test_without_shared_clones_there_is_nothing(tmp_path):
    folder = write(tmp_path, steps=STEPS[:0], cells=CELLS.loc[["one0", "later0"]])
    assert shared_clones.read_shared(folder, None) is None
    assert shared_clones.read_shared(None, None) is shared_clones.read_shared(tmp_path / "no", None) is None


def test_300_samples_are_few_drawings_and_small(tmp_path):
    rng = np.random.default_rng(0)
    names = [f"d{n}_{day}" for n in range(150) for day in (0, 7)]
    own = {
        f"c{n}_{i}": {f"d{n}_0": int(a), f"d{n}_7": int(b)}
        for n in range(150)
        for i, (a, b) in enumerate(rng.geometric(0.02, (40 if n else 3000, 2)))
    }
    cells = pd.DataFrame.from_dict(own, orient="index").reindex(columns=names).fillna(0).astype(int)
    steps = [(f"d{n}", "0", "7", f"d{n}_0", f"d{n}_7", None, 0, 0, 0, 0, 40) for n in range(150)]
    steps[0] = (*steps[0][:6], 0, 0, 0, 0, 3000)
    folder = write(tmp_path, steps=steps, cells=cells)
    first, second = shared_clones.shared_sections(shared_clones.read_shared(folder, folder))
    assert len(boxes(first)) == shared_clones.MOST_PAIRS
    assert len(boxes(second)) == shared_clones.MOST_DONORS
    drawing, _ = boxes(first)["d0: 0 and 7"]
    assert len(drawing.all("circle")) == shared_clones.MOST_POINTS
    left_out = (
        3000
        - cells.loc[[name for name in own if name.startswith("c0_")]]
        .groupby(["d0_0", "d0_7"])
        .size()
        .reset_index(name="n")
        .assign(size=lambda rows: rows["d0_0"] + rows["d0_7"])
        .sort_values("size", ascending=False, kind="stable")
        .head(shared_clones.MOST_POINTS)["n"]
        .sum()
    )
    assert f"{left_out:,} small clones are left out" in first["description"]
    assert len(first["data"]) + len(second["data"]) < 300_000
