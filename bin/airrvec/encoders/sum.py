"""Several encoders as one: the mean of their distances, each in units of its own spread."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from airrvec.encoders import distance_rows

# Receptors whose distances tell an encoder's spread, evenly spaced in the table.
SAMPLE = 1000


class Sum:
    """
    Mean of the distances of several encoders.

    The standard deviation of each encoder's distances is brought to that of the first, so that rules
    with a width, which fits the first one's unit, remain what they are.

    Parameters
    ----------
    encoders : list
        From `airrvec.encoders.load`.
    """

    def __init__(self, encoders: list):
        self.encoders = encoders

    def distance_rows(self, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
        """As `airrvec.encoders.distance_rows`; the spread is that of at most `SAMPLE` of ``receptors``."""
        sample = np.unique(np.linspace(0, len(receptors) - 1, SAMPLE).astype(int))
        pairs = np.triu_indices(len(sample), 1)
        parts = [distance_rows(encoder, receptors) for encoder in self.encoders]
        spreads = [rows(sample)[:, sample][pairs].std() for rows in parts]
        weights = [spreads[0] / spread / len(parts) for spread in spreads]

        def rows_to_all(rows: np.ndarray) -> np.ndarray:
            return sum(w * part(rows) for w, part in zip(weights, parts, strict=True)).astype(np.float32)

        return rows_to_all
