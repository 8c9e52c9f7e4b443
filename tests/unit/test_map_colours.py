"""Colours, sizes and density of the map."""

from pathlib import Path

from airrvec.figures import map_page

import numpy as np
import pandas as pd
import pytest

import browser


@pytest.mark.parametrize(
    ("columns", "first"),
    [
        ({"donor ": "xyxy"}, "donor "),
        ({"one ": "xxxx", "each ": "abcd", "donor ": "xyx" + "s"}, "donor "),
        ({"call": "xyxy"}, "sample_id"),
        ({"each ": "abcd"}, "sample_id"),
    ],
)
def test_the_map_opens_with_the_colours_of_a_condition_else_of_samples(columns, first):
    colours = {"sample_id": list("abcd")} | {name: list(values) for name, values in columns.items()}
    frames = {name: pd.Series(values).replace("s", map_page.SEVERAL) for name, values in colours.items()}
    assert list(frames)[map_page._first_colour(list(frames), frames)] == first


def test_several_values_are_one_colour_and_listed():
    cells = pd.DataFrame(
        {"clonotype_id": ["p", "p", "q", "r", *["s"] * 12], "x": ["b", "a", "a", None, *"abcdefghijkl"]}
    )
    values, details = map_page._distinct(cells, "x", pd.Series(["q", "p", "r", "s"]))
    assert values[:2].tolist() == ["a", "several"]
    assert values.isna().tolist() == [False, False, True, False]
    assert details == {1: "a, b", 3: "a, b, c, d, e, f, g, h, i, j and 2 more"}


def test_points_grow_with_their_clones_on_request(tmp_path):
    """A receptor of 64 cells covers more of the canvas than one of 1 cell."""
    if browser.CHROMIUM is None:
        pytest.skip("no chromium or chrome on the path")
    column = {"title": "Sample", "values": ["a"], "codes": [0, 0]}
    data = {"method": "UMAP", "model": "x", "n": 2, "x": [0, 4000], "y": [0, 0], "ids": ["p", "q"]}
    data |= {"colours": [column], "first": 0, "fields": {}, "density": None, "calls": None}
    covered = (
        "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data"
        ".filter((byte, place) => place % 4 === 0 && byte < 128).length)(document.getElementById('map'))"
    )
    areas = []
    with browser.opened(tmp_path) as page:
        for cells in ([1, 1], [1, 64]):
            text = map_page.page({**data, "cells": cells}, Path(__file__).parents[2] / "assets/report")
            (tmp_path / "map.html").write_text(text)
            page.open((tmp_path / "map.html").as_uri())
            areas.append(page.value(covered))
            page.click("#size")
            areas.append(page.value(covered))
            assert page.errors == []
    assert areas[0] == areas[1] == areas[3] > 0
    assert areas[2] > 4 * areas[3]


def test_density_counts_all():
    places = np.array([[0.0, 0], [0, 0], [0, 0], [0, 0], [1, 1]])
    counted = map_page.Density(map_page.Scale(places))
    counted.add(places[:3])
    counted.add(places[3:])
    density = counted.shades()
    values = np.reshape(density["values"], (density["size"], -1))
    assert values[0, 0] == 255
    assert values[-1, -1] == 128  # the root of a quarter
    assert np.count_nonzero(values) == 2
