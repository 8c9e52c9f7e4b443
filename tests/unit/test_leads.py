"""Leads along the line of two centres: no pair within reach is excluded, and others are."""

from airrvec.search import radius_search

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

# Products whose sums and differences are exact in float32.
PRODUCTS = st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1, max_size=90)
SIZES = (4, 16)


def near(queries, references, reach):
    own, other = np.array(queries, np.float32).T.copy()
    own_of_references, to_cell = np.array(references, np.float32).T.copy()
    found = radius_search.near_rows(own, other, own_of_references, to_cell, np.float32(reach), SIZES)
    return own - other, own_of_references - to_cell, *found


@settings(deadline=None)
@given(PRODUCTS, PRODUCTS, st.integers(-60, 60))
def test_pairs_within_reach_are_in_groups_that_are_compared(queries, references, reach):
    first, second, rows, floors, other_rows, other_floors = near(queries, references, reach)
    possible = {(q, r) for q, r in np.argwhere(first[:, None] + second <= reach).tolist()}
    compared = {
        (q, r)
        for group, floor in enumerate(floors)
        for other_group, other_floor in enumerate(other_floors)
        if floor <= reach - other_floor
        for q in rows[group * SIZES[0] : (group + 1) * SIZES[0]].tolist()
        for r in other_rows[other_group * SIZES[1] : (other_group + 1) * SIZES[1]].tolist()
    }
    assert possible <= compared
    assert len(rows) == len(set(rows.tolist()))
    assert bool(possible) == bool(len(rows)) == bool(len(other_rows))
    assert set(rows.tolist()) == {q for q in range(len(first)) if first[q] + second.min() <= reach}
    assert (np.diff(floors) >= 0).all()
    assert (np.diff(other_floors) >= 0).all()


def test_most_pairs_of_distant_rows_are_excluded():
    queries = references = [(lead, 0) for lead in range(1, 257)]
    *_, floors, other_rows, other_floors = near(queries, references, 258)
    assert len(other_rows) == 256
    compared = (floors[:, None] + other_floors <= 258).mean()
    assert 0.5 < compared < 0.56  # half of the pairs are possible
