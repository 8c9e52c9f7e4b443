"""Vectors of two paths, compared."""

from airrvec.core import devices

import numpy as np
import pytest

multiplies_bf16 = pytest.mark.skipif(
    not devices.has_bf16(), reason="this processor does not multiply bfloat16"
)


def largest_distance(vectors, others) -> float:
    """Largest Euclidean distance of two vectors of a receptor; the same receptors lack one."""
    assert np.array_equal(np.isnan(vectors), np.isnan(others))
    return float(np.nanmax(np.linalg.norm(vectors - others, axis=1)))
