"""Designs: what a column of the samplesheet allows to compare, and with which exchanges."""

import math

from airrvec.stats.designs import SEVERAL_GROUPS, TREND, TWO_GROUPS, designs

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

RNG = np.random.default_rng(0)


def sheet(rows, columns=("donor", "tissue", "batch")) -> pd.DataFrame:
    """Samples s1, s2, … with these values."""
    table = pd.DataFrame(rows, columns=list(columns)[: len(rows[0])], dtype=object)
    return table.set_axis([f"s{number}" for number in range(1, len(rows) + 1)])


def test_donors_of_one_value_each_make_two_groups():
    samples = sheet([("A", "x"), ("B", "x"), ("C", "y"), ("D", "y"), ("D", "y"), ("E", None)])
    (made,) = designs(samples, "tissue")
    assert (made.kind, made.groups, made.within) == (TWO_GROUPS, ("x", "y"), None)
    assert made.samples == [["s1"], ["s2"], ["s3"], ["s4", "s5"]]
    assert made.n_units == [2, 2]
    assert made.least_p == pytest.approx(2 / 6)
    weights = made.averages(list(samples.index))
    assert weights[3].tolist() == [0, 0, 0, 0.5, 0.5, 0]


def test_blood_and_tissue_of_the_same_donors_are_pairs():
    rows = [(donor, tissue) for donor in "ABCD" for tissue in ("lung", "blood")] + [("E", "blood")]
    (made,) = designs(sheet(rows), "tissue")
    assert made.paired
    assert made.groups == ("lung", "blood")
    assert made.n_units == [4, 4]
    assert made.left_out == {"s9": "its donor has no other tissue"}
    assert made.n_arrangements == 2**4
    assert made.least_p == pytest.approx(2 / 16)
    every = made.arrangements(100, RNG)
    assert every.shape == (8, 16)
    assert len({tuple(column) for column in every.T}) == 16
    assert every[:, 0].tolist() == made.labels.tolist()
    assert (every.reshape(4, 2, 16).sum(axis=1) == 1).all()  # one of each in each donor
    assert made.arrangements(9, RNG).shape == (8, 10)


def test_few_donors_with_both_are_left_out_of_groups():
    rows = [("A", "x"), ("A", "y"), ("B", "x"), ("C", "x"), ("D", "y"), ("E", "y")]
    (made,) = designs(sheet(rows), "tissue")
    assert not made.paired
    assert made.left_out == dict.fromkeys(["s1", "s2"], "its donor has several tissue")


def test_values_are_exchanged_within_batches():
    rows = [*[(d, "x", "1") for d in "AB"], *[(d, "y", "1") for d in "CD"], ("E", "x", "2"), ("F", "y", "2")]
    rows += [("G", "x", "3"), ("H", "x", None)]
    (made,) = designs(sheet(rows), "tissue", "batch")
    assert made.within == "batch"
    assert made.left_out == {"s7": "no other tissue has its batch", "s8": "it has no batch"}
    assert made.n_arrangements == math.comb(4, 2) * 2
    assert made.least_p == pytest.approx(2 / 12)


def test_several_values_are_compared_together_and_by_twos():
    rows = [(donor, tissue) for tissue in "xyz" for donor in (f"{tissue}1", f"{tissue}2")]
    together, *pairs = designs(sheet(rows), "tissue")
    assert together.kind == SEVERAL_GROUPS
    assert together.n_arrangements == 90
    assert together.least_p == pytest.approx(6 / 90)
    assert [made.groups for made in pairs] == [("x", "y"), ("x", "z"), ("y", "z")]


def test_a_value_of_one_donor_is_left_out():
    rows = [("A", "x"), ("B", "x"), ("C", "y"), ("D", "y"), ("E", "z")]
    (made,) = designs(sheet(rows), "tissue")  # and no comparison of three values
    assert made.groups == ("x", "y")


def test_numbers_make_a_trend_within_donors():
    rows = [(donor, time) for donor in "ABC" for time in ("0", "7", "28")]
    trend, *pairs = designs(sheet(rows, ("donor", "timepoint")), "timepoint")
    assert (trend.kind, trend.within) == (TREND, "donor")
    assert trend.labels.tolist() == [0, 7, 28] * 3
    assert trend.n_arrangements == 6**3
    assert trend.least_p == pytest.approx(1 / 216)
    assert all(made.paired for made in pairs)
    even = [(donor, time) for donor in "ABC" for time in ("0", "7", "14")]
    assert designs(sheet(even, ("donor", "timepoint")), "timepoint")[0].least_p == pytest.approx(2 / 216)


def test_ages_of_donors_make_a_trend_among_them():
    (trend,) = designs(
        sheet(
            [(d, str(age)) for d, age in zip("ABCDE", (20, 31, 45, 60, 77), strict=True)], ("donor", "age")
        ),
        "age",
    )
    assert (trend.kind, trend.within, trend.n_units) == (TREND, None, [5])
    assert trend.n_arrangements == 120


@pytest.mark.parametrize(
    "rows", [[("A", "x"), ("B", "y")], [("A", "x"), ("A", "y")], [("A", "x"), ("B", "x")]]
)
def test_too_few_donors_make_no_design(rows):
    assert designs(sheet(rows), "tissue") == []


def test_units_that_were_not_measured_leave_with_their_pair():
    rows = [(donor, tissue) for donor in "ABC" for tissue in ("x", "y")]
    (made,) = designs(sheet(rows), "tissue")
    rows = made.comparable(np.array([True, True, True, False, True, True]))
    assert made.part(rows).donors.tolist() == ["A", "A", "C", "C"]
    assert not len(made.comparable(np.array([True, False, True, False, True, True])))


@given(
    st.lists(
        st.tuples(st.sampled_from("ABCDE"), st.sampled_from("xyz"), st.sampled_from("12")),
        min_size=2,
        max_size=9,
    )
)
@settings(max_examples=200, deadline=None)
def test_exchanges_keep_each_block(rows):
    samples = sheet(rows)
    for within in (None, "batch"):
        for made in designs(samples, "tissue", within):
            every = made.arrangements(500, np.random.default_rng(1))
            for units in made.members():
                assert (np.sort(every[units], axis=0) == np.sort(made.labels[units])[:, None]).all()
                assert len({*made.labels[units].tolist()}) > 1
            named = [name for unit in made.samples for name in unit]
            assert len(named) == len({*named})
            assert not {*named} & {*made.left_out}
            there = samples.index[samples["tissue"].isin(made.groups)]
            assert {*there} <= {*named, *made.left_out}
            assert 0 < made.least_p <= 1
            for unit, donor, label in zip(made.samples, made.donors, made.labels, strict=True):
                assert {*samples.loc[unit, "donor"]} == {donor}
                assert {*samples.loc[unit, "tissue"]} == {made.groups[label]}
