"""Every rule against a plain loop."""

import math

from airrvec.evaluation import scoring
from airrvec.evaluation.rules import (
    DISTANCE_RULES,
    RULES,
    contrast,
    mean_of_nearest,
    nearest_neighbour,
    soft_nearest_neighbour,
)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

shapes = st.tuples(st.integers(1, 5), st.integers(1, 9))
distances = shapes.flatmap(lambda shape: arrays(float, shape, elements=st.floats(0, 2, width=32)))


def soft(row, kernel=0.05):
    return -kernel * math.log(sum(math.exp(-d / kernel) for d in row))


LOOPS = {
    "nearest_neighbour": lambda row, _: min(row),
    "average_distance": lambda row, _: sum(row) / len(row),
    "mean_of_nearest": lambda row, _: sum(sorted(row)[:5]) / len(row[:5]),
    "soft_nearest_neighbour": lambda row, _: soft(row),
    "contrast": lambda row, others: soft(row) - soft([*row, *others]),
}


@given(to_epitope=distances, to_others=arrays(float, (5, 3), elements=st.floats(0, 2, width=32)))
def test_rules_are_plain_loops(to_epitope, to_others):
    to_others = to_others[: len(to_epitope)]
    to_all = np.hstack([to_epitope, to_others])
    assert set(DISTANCE_RULES) == set(LOOPS)
    for name, loop in LOOPS.items():
        expected = [loop(list(row), list(others)) for row, others in zip(to_epitope, to_others, strict=True)]
        np.testing.assert_allclose(RULES[name].score(to_epitope, to_all), expected, rtol=1e-6, atol=1e-7)


@given(
    several=arrays(float, (3, 4, 6), elements=st.floats(0, 2)),
    others=arrays(float, (3, 4, 2), elements=st.floats(0, 2)),
)
def test_many_splits_at_once_are_one_after_another(several, others):
    to_all = np.concatenate([several, others], axis=2)
    for rule in DISTANCE_RULES.values():
        expected = np.stack([rule.score(*split) for split in zip(several, to_all, strict=True)])
        np.testing.assert_allclose(rule.score(several, to_all), expected, rtol=1e-12)


@given(to_epitope=distances)
def test_the_soft_nearest_is_below_the_nearest_by_at_most_the_log_of_the_references(to_epitope):
    gap = nearest_neighbour(to_epitope) - soft_nearest_neighbour(to_epitope)
    assert (gap >= -1e-9).all()
    assert (gap <= 0.05 * math.log(to_epitope.shape[1]) + 1e-9).all()


def test_two_equal_references_are_nearer_than_one_by_the_log_of_two():
    one, two = np.array([[0.3]]), np.array([[0.3, 0.3]])
    assert soft_nearest_neighbour(one)[0] == pytest.approx(0.3)
    assert soft_nearest_neighbour(two)[0] == pytest.approx(0.3 - 0.05 * math.log(2))


def test_the_contrast_is_the_log_share_of_the_epitope():
    # As near to one reference of this epitope as to three of others: a share of a quarter.
    assert contrast(np.array([[0.7]]), np.full((1, 4), 0.7))[0] == pytest.approx(0.05 * math.log(4))


def test_distances_in_edits_do_not_overflow():
    edits = np.array([[400, 300], [0, 300]], np.int16)
    np.testing.assert_allclose(soft_nearest_neighbour(edits), [300, 0])


def test_parameters_are_used():
    row = np.array([[1.0, 2.0, 6.0]])
    assert mean_of_nearest(row, m=2)[0] == 1.5
    assert soft_nearest_neighbour(row, kernel=1)[0] == pytest.approx(soft([1, 2, 6], 1))


def test_the_benchmark_uses_registered_rules():
    assert set(scoring.DEFAULT_RULES) <= set(RULES)
