"""SCEPTR models as an encoder: the published variants, and own models."""

import numpy as np
import pyarrow as pa

from airrvec import model, weights
from airrvec.tokens import tokenise


class Sceptr:
    """
    Vectors of a SCEPTR model.

    Parameters
    ----------
    name : str
        A name in `airrvec.variants.VARIANTS`, or the folder of an own model.
    device : str
        torch's name of the device.
    """

    def __init__(self, name: str, *, device: str = "cpu"):
        self.loaded = weights.load(name)
        self.device = device

    def embed(self, receptors: pa.Table, *, progress=None) -> np.ndarray:
        """
        Vectors of receptors.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors``; chains may be missing.
        progress : callable, optional
            Called with the number of receptors done after each batch.

        Returns
        -------
        ndarray of float32, shape (n_receptors, d_model)
            l2-normalised; NaN for a receptor of which the model sees no loop.
        """
        encoder = self.loaded.encoder
        tokens = tokenise(receptors, encoder.config.loops)
        return model.embed(encoder, tokens, device=self.device, progress=progress)
