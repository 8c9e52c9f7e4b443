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
    with a width, which fits the first one's unit, remain what they are. An encoder whose distances are all
    equal tells no receptors apart and adds nothing; the unit is that of the first that does.

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
        spreads = [_spread(rows(sample)[:, sample][pairs]) for rows in parts]
        weights = _weights(spreads)

        def rows_to_all(rows: np.ndarray) -> np.ndarray:
            return sum(w * part(rows) for w, part in zip(weights, parts, strict=True)).astype(np.float32)

        return rows_to_all


def _spread(distances: np.ndarray) -> float:
    """Standard deviation; 0 where there is no pair, or all are equal but for rounding."""
    if not len(distances) or np.isclose(distances.min(), distances.max()):
        return 0.0
    return float(distances.std())


def _weights(spreads: list[float]) -> list[float]:
    """Of each encoder in the sum; plain shares where no encoder has a spread."""
    unit = next((spread for spread in spreads if spread), None)
    if unit is None:
        return [1 / len(spreads)] * len(spreads)
    return [unit / spread / len(spreads) if spread else 0.0 for spread in spreads]
