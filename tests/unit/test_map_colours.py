"""Columns that colour the map: which comes first, and receptors with several values."""

import pandas as pd
import pytest

from airrvec.figures import map_page


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
