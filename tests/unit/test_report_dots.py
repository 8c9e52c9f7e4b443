"""Dots by condition in the report: a dot per unit of the tests, at its number, beside what the tests say."""

import math

from airrvec.core import schema
from airrvec.report.sections import dots
from airrvec.report.sections.conditions import Conditions

import numpy as np
import pandas as pd
import pytest
from drawn import elements

SAMPLES = pd.DataFrame(
    [
        *[("a1", "p1", "after"), ("a1x", "p1", "after"), ("b1", "p1", "<before>")],
        *[("a2", "p2", "after"), ("b2", "p2", "<before>"), ("a3", "p3", "after"), ("b3", "p3", "<before>")],
    ],
    columns=["sample_id", "donor", "value"],
)
EMPTY = pd.DataFrame()
NUMBERS = {
    ("hill_1_at_coverage", None, "homosapiens", "paired"): np.log([10, 30, 100, 40, 80, 50, np.nan]),
    ("hill_1_at_coverage", None, "homosapiens", "beta"): [1, 2, *[np.nan] * 5],
    ("hill_2_at_coverage", None, "homosapiens", "paired"): np.log([9, 20, 90, 30, 70, 40, 60]),
    ("large_clones", None, None, None): [0.1, np.nan, 0.3, 0.05, 0.2, 0, 0.1],
    **{
        ("v_gene", f"TRBV{n}", "homosapiens", None): [0.01 * n, 0.02, 0.03, 0.01, 0.02, 0.02, 0.05]
        for n in range(1, 12)
    },
    ("pathogen", "Flu <A>", "homosapiens", None): [0.1, 0.2, 0, 0, 0.1, 0.1, 0.2],
}


def conditions(numbers=NUMBERS, samples=SAMPLES, **changed) -> Conditions:
    """Results of a comparison of two values within donors."""
    measures = pd.concat(
        samples.assign(**dict(zip(dots.KEYS, key, strict=True)), number=values)
        for key, values in numbers.items()
    )
    tests = pd.DataFrame([dict(zip(dots.KEYS, key, strict=True)) for key in numbers])
    tests = tests.reindex(columns=schema.CONDITION_TESTS.names)
    order = np.arange(1, len(tests) + 1)
    about = {"condition": "time", "design": "two values", "within": "donor", "value_1": "<before>"}
    about |= {"value_2": "after", "n_units": 6, "n_units_1": 3.0, "n_units_2": 3.0, "p": 0.02 * order}
    about |= {"fdr": 0.01 * order[::-1] + 0.04, "difference": 0.1, "low": -0.2, "high": 0.4}
    tests = tests.assign(**about | changed)
    return Conditions({"condition": "time"}, tests, EMPTY, {}, EMPTY, EMPTY, measures)


def figures(section: dict):
    """Return each figure by its heading: its drawing, and the lines below it."""
    made = {}
    for box in elements(section["data"]).inside[0].inside:
        heading, picture, caption = box.inside
        made[heading.text] = picture, [line.text for line in caption.inside]
    return made


def test_the_headline_is_always_drawn_then_the_smallest_fdr():
    panels, sentences = dots.chosen_panels(conditions())
    assert [panel.key[:2] for panel in panels] == [
        *[("hill_1_at_coverage", None), ("large_clones", None), ("v_gene", "TRBV11")],
        *[("pathogen", "Flu <A>"), *[("v_gene", f"TRBV{n}") for n in (10, 9, 8, 7, 6)]],
    ]
    assert panels[0].key[3] == "paired"  # the class that most samples have
    assert sentences == []
    clear = conditions(fdr=[0.9, 0.9, 0.04, *[0.9] * 13])
    assert ("hill_2_at_coverage", None) in [panel.key[:2] for panel in dots.chosen_panels(clear)[0]]


@pytest.mark.parametrize("key", list(NUMBERS)[3:5])
def test_a_dot_is_a_donor_s_mean_at_its_number(key):
    section = dots.dots_section(conditions({key: NUMBERS[key]}))
    heading = "Cells in large clones" if key[0] == "large_clones" else "V gene TRBV1"
    (picture, _) = next(value for name, value in figures(section).items() if name.startswith(heading))
    means = SAMPLES.assign(number=NUMBERS[key]).groupby(["value", "donor"])["number"].mean() * 100
    drawn = {}
    for value, group in zip(("after", "<before>"), groups(picture), strict=True):
        for circle in group.all("circle"):
            name, _, number = circle.title.rpartition(": ")
            drawn[value, name] = circle.number("cy"), number
    first = "a1" if key[0] == "large_clones" else "a1, a1x"  # of a1x it is not known
    assert [name for _, name in drawn] == [
        *(f"{first}, donor p1", "a2, donor p2", "a3, donor p3"),
        *("b1, donor p1", "b2, donor p2", "b3, donor p3"),
    ]
    for (value, name), (height, number) in drawn.items():
        mean = means[value, name[-2:]]
        assert number == f"{mean:.3g} %"
        drawn[value, name] = height, mean
    heights, numbers = np.array(list(drawn.values())).T
    slope, start = np.polyfit(numbers, heights, 1)
    assert slope < 0
    np.testing.assert_allclose(heights, slope * numbers + start, atol=0.15)
    medians = [line for line in picture.all("line") if line.attributes.get("stroke-width") == "2"]
    for value, line in zip(("after", "<before>"), medians, strict=True):
        assert line.number("y1") == pytest.approx(slope * means[value].median() + start, abs=0.2)


def groups(picture) -> list:
    """The dots of each value, from left to right."""
    return [group for group in picture.all("g") if group.all("circle")]


def test_donors_are_joined_only_where_they_are_compared_within():
    key = ("large_clones", None, None, None)
    one = conditions({key: NUMBERS[key]})
    ((picture, lines),) = figures(dots.dots_section(one)).values()
    assert len(picture.all("polyline")) == 3
    assert lines == [
        "<before> − after: 10 (−20 to 40) %, p = 0.02, FDR = 0.05, 3 donors, within donors",
        "not known: a1x",
    ]
    apart = conditions({key: NUMBERS[key]}, within=None)
    ((picture, lines),) = figures(dots.dots_section(apart)).values()
    assert picture.all("polyline") == []
    assert lines[0].endswith("FDR = 0.05, 3 and 3 donors")


def test_diversity_is_an_effective_number_and_its_difference_a_ratio():
    key = next(iter(NUMBERS))
    section = dots.dots_section(conditions({key: NUMBERS[key]}))
    ((picture, lines),) = figures(section).values()
    assert [circle.title for circle in groups(picture)[0].all("circle")] == [
        *(f"a1, a1x, donor p1: {math.sqrt(300):.3g}", "a2, donor p2: 40", "a3, donor p3: 50")
    ]
    heights = [circle.number("cy") for circle in groups(picture)[0].all("circle")]
    logs = np.log([math.sqrt(300), 40, 50])
    assert (heights[1] - heights[0]) / (heights[2] - heights[0]) == pytest.approx(
        (logs[1] - logs[0]) / (logs[2] - logs[0]), abs=0.01
    )
    assert lines[0].startswith("<before> ÷ after: 1.11 (0.819 to 1.49), p = ")
    assert (
        "Not drawn, because fewer than two samples have enough cells: cells in large clones."
        in (section["description"])
    )


def test_numbers_stand_in_their_order_and_many_values_are_left_out():
    samples = pd.DataFrame({"sample_id": list("abcdef"), "donor": list("abcdef"), "value": list("291543")})
    found = conditions({("large_clones", None, None, None): [0.1] * 6}, samples, design="trend")
    assert dots.shown_values(found.measures) == (["1", "2", "3", "4", "5", "9"], [])
    many = pd.DataFrame({"value": [f"v{n % 20:02d}" for n in range(50)], "sample_id": range(50)})
    shown, left_out = dots.shown_values(many)
    assert shown == [f"v{n:02d}" for n in range(12)]
    assert left_out == [f"v{n:02d}" for n in range(12, 20)]


def test_300_samples_stay_small():
    n = 300
    samples = pd.DataFrame(
        {"sample_id": [f"sample_{i:03d}" for i in range(n)], "value": ["x", "y", "z"] * 100}
    )
    rng = np.random.default_rng(1)
    numbers = {key: rng.random(n) for key in NUMBERS}
    section = dots.dots_section(conditions(numbers, samples.assign(donor=samples["sample_id"])))
    assert len(elements(section["data"]).all("circle")) == n * dots.MOST_PANELS
    assert len(section["data"]) < 400_000


def test_without_numbers_there_is_no_section():
    none = {("large_clones", None, None, None): [np.nan] * 7}
    assert dots.dots_section(conditions(none)) is None
