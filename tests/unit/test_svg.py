"""Drawings of the report: axes, ticks, dots that do not overlap, text that is escaped."""

import math

from airrvec.report import svg

import pytest
from drawn import elements
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.floats(1e-6, 1e6)


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.booleans(), st.booleans())
def test_an_axis_holds_all_numbers_in_their_order(numbers, log, from_zero):
    axis = svg.axis(numbers, 200, 10, log=log, from_zero=from_zero)
    places = [axis.place(number) for number in sorted(numbers)]
    assert all(10 - 1e-6 <= place <= 200 + 1e-6 for place in places)
    assert places == sorted(places, reverse=True)
    for tick in axis.ticks():
        assert 10 - 1e-3 <= axis.place(tick) <= 200 + 1e-3
    assert 1 <= len(axis.ticks()) <= 15


def test_places_are_linear_or_logarithmic():
    assert svg.Axis(0, 10, 100, 0).place(2.5) == 75
    assert svg.Axis(0.01, 1, 0, 100, log=True).place(0.1) == pytest.approx(50)
    assert svg.axis([3, 40], 0, 100, from_zero=True).low == 0
    assert svg.axis([5, 5], 0, 100).place(5) == pytest.approx(50)


@given(st.lists(st.floats(0, 100), max_size=25))
def test_dots_of_a_swarm_do_not_overlap(places):
    offsets = svg.swarm(places, 2, 200)
    points = list(zip(places, offsets, strict=True))
    for number, one in enumerate(points):
        for other in points[:number]:
            assert math.dist(one, other) >= 4 - 1e-6
    assert svg.swarm([1, 50], 2, 200) == [0, 0]


def test_a_swarm_stays_in_its_room():
    assert max(map(abs, svg.swarm([5.0] * 200, 3, 30))) <= 30


def test_a_drawing_is_xml_whose_words_are_escaped():
    text = svg.tag("text", svg.words("<b> & 'c'"), svg.title("d > e"), x=1.25, text_anchor="end")
    picture = svg.picture(100, 50, 'a "label" <x>', text, svg.line(0, 0, 1, 1))
    (root,) = elements(picture).all("svg")
    assert root.attributes["aria-label"] == 'a "label" <x>'
    assert root.attributes["fill"] == "currentColor"
    (shown,) = root.all("text")
    assert (shown.text, shown.title, shown.attributes["x"]) == ("<b> & 'c'", "d > e", "1.2")
