"""Encoders made of others: vectors computed once, and sums of distances."""

from collections.abc import Callable
from functools import reduce
from operator import add

from airrvec.encoders import distance_rows

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Embedded:
    """
    Vectors of the receptors of a table, computed once.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`; it gives vectors.
    receptors : pyarrow.Table
        ``receptors``: all that will be measured.
    """

    def __init__(self, encoder, receptors: pa.Table):
        self.receptor_ids = receptors["receptor_id"].combine_chunks()
        self.vectors = encoder.embed(receptors)  # (n_receptors, d)
        self.kernel = getattr(encoder, "kernel", None)

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """Return the vectors of some of the receptors, found by ``receptor_id``; shape (n, d)."""
        rows = pc.index_in(receptors["receptor_id"], self.receptor_ids)
        if rows.null_count:
            raise KeyError(f"receptors without a vector here: {rows.null_count}")
        return self.vectors[rows.to_numpy()]


# Receptors, evenly spaced in the table, from which the spread of an encoder's distances is estimated.
SAMPLE = 1000


class Sum:
    """
    Mean of the distances of several encoders.

    The distances of each encoder are scaled to the standard deviation of the first encoder, so that rules
    with a kernel width in the unit of the first encoder stay valid. An encoder whose distances are all equal
    does not distinguish receptors and has weight 0; the unit comes from the first encoder that does.

    Parameters
    ----------
    encoders : list
        From `airrvec.encoders.load`.
    """

    def __init__(self, encoders: list):
        self.encoders = encoders
        self.kernel = getattr(encoders[0], "kernel", None)

    def distance_rows(self, receptors: pa.Table) -> Callable[[np.ndarray], np.ndarray]:
        """See `airrvec.encoders.distance_rows`; spreads are estimated from at most `SAMPLE` receptors."""
        sample = np.unique(np.linspace(0, len(receptors) - 1, SAMPLE).astype(int))
        pairs = np.triu_indices(len(sample), 1)
        parts = [distance_rows(encoder, receptors) for encoder in self.encoders]
        spreads = [_spread(rows(sample)[:, sample][pairs]) for rows in parts]
        weights = _weights(spreads)

        def rows_to_all(rows: np.ndarray) -> np.ndarray:
            weighted = (w * part(rows) for w, part in zip(weights, parts, strict=True))
            return reduce(add, weighted).astype(np.float32)

        return rows_to_all


def _spread(distances: np.ndarray) -> float:
    """Return the standard deviation; 0 if there is no pair, or all are equal up to rounding."""
    if not len(distances) or np.isclose(distances.min(), distances.max()):
        return 0.0
    return float(distances.std())


def _weights(spreads: list[float]) -> list[float]:
    """Return the weight of each encoder in the sum; equal weights if all spreads are 0."""
    unit = next((spread for spread in spreads if spread), None)
    if unit is None:
        return [1 / len(spreads)] * len(spreads)
    return [unit / spread / len(spreads) if spread else 0.0 for spread in spreads]
