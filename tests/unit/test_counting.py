"""Least distances by counting are those that NumPy sorts."""

from airrvec.search import whole_distances

import hypothesis.extra.numpy as arrays
import numpy as np
from hypothesis import given
from hypothesis import strategies as st


@given(
    st.data(),
    st.integers(0, 150),
    st.integers(1, 40) | st.integers(1, 3).map(lambda n: n * whole_distances.STRETCH - 1),
    st.sampled_from([3, 600]),
)
def test_they_are_those_of_a_stable_sort(data, n, m, greatest):
    rows = data.draw(arrays.arrays(np.int16, (n, min(m, 40)), elements=st.integers(0, greatest)))
    # Rows longer than drawn repeat themselves, from a column that is drawn too.
    distances = np.tile(rows, -(-m // rows.shape[1]))[:, :m]
    distances = np.roll(distances, data.draw(st.integers(0, m)), axis=1)
    k = data.draw(st.integers(1, m))
    found, columns = whole_distances.nearest_of_distances(distances, k)
    expected = np.argsort(distances, axis=1, kind="stable")[:, :k]
    assert np.array_equal(columns, expected)
    assert np.array_equal(found, np.take_along_axis(distances, expected, 1))
    assert found.dtype == np.int16
