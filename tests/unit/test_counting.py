"""Least distances by counting are those that NumPy sorts."""

from airrvec.search import neighbours

import hypothesis.extra.numpy as arrays
import numpy as np
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.data(),
    st.tuples(st.integers(0, 150), st.integers(1, 40)),
    st.sampled_from([3, 600]),
)
def test_they_are_those_of_a_stable_sort(data, shape, greatest):
    distances = data.draw(arrays.arrays(np.int16, shape, elements=st.integers(0, greatest)))
    k = data.draw(st.integers(1, shape[1]))
    found, columns = neighbours.nearest_of_distances(distances, k)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :k]
    assert np.array_equal(columns, expected)
    assert np.array_equal(found, np.take_along_axis(distances, expected, 1))
    assert found.dtype == np.int16
