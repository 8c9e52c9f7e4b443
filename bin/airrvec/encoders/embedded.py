"""Encoder of receptors whose vectors are known, so that several measurements share one embedding."""

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

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """Return the vectors of some of the receptors, found by ``receptor_id``; shape (n, d)."""
        rows = pc.index_in(receptors["receptor_id"], self.receptor_ids)
        if rows.null_count:
            raise KeyError(f"receptors without a vector here: {rows.null_count}")
        return self.vectors[rows.to_numpy()]
