"""SCEPTR models as an encoder: the published variants, and models trained with airrvec."""

from functools import cached_property

from airrvec.core import devices
from airrvec.core.progress import counter, step
from airrvec.model import weights
from airrvec.model.cpu import inference
from airrvec.model.tokens import Tokens, tokenise

import numpy as np
import pyarrow as pa


class Sceptr:
    """
    Vectors of a SCEPTR model.

    They are computed by `airrvec.model.cpu.inference` on a CPU, by `airrvec.model.transformer` on a GPU.

    Parameters
    ----------
    name : str
        A name in `airrvec.model.variants.VARIANTS`, or the folder of a trained model.
    device : {"cpu", "auto", "gpu"}
        ``auto`` uses a GPU if there is one; see `airrvec.core.devices.choose_device`.
    precision : {"auto", "fp32", "bf16"}
        Number format in matrix products; see there.
    threads : int
        Number of threads on a CPU.

    Attributes
    ----------
    device : {"cpu", "gpu"}
    precision : {"fp32", "bf16"}
        What was chosen.

    Raises
    ------
    InputError
        If the device or the precision is not to be had, or the model cannot be loaded.
    """

    kernel = 0.05  # width for rules of the benchmark: the temperature of the losses, for unit vectors

    def __init__(self, name: str, *, device: str = "cpu", precision: str = "auto", threads: int = 1):
        self.device, self.precision = devices.choose_device(device, precision)
        self.loaded = weights.load(name)
        self.threads = threads

    @property
    def n_parameters(self) -> int:
        """Number of parameters; see `airrvec.model.architecture.ModelConfig.n_parameters`."""
        return self.loaded.config.n_parameters

    @cached_property
    def network(self) -> inference.Network:
        """The model for inference on a CPU."""
        return inference.Network(self.loaded.config, self.loaded.state, self.precision)

    @step("vectors of receptors")
    def embed(self, receptors: pa.Table, *, progress=None) -> np.ndarray:
        """
        Return the vectors of receptors.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors``; chains may be missing.
        progress : callable, optional
            Called after each batch with the number of receptors done. Without it, lines of progress are
            printed where it takes longer than seconds.

        Returns
        -------
        ndarray of float32, shape (n_receptors, d_model)
            l2-normalised; NaN for a receptor without any loop that the model reads.
        """
        return self.embed_tokens(self.tokens(receptors), progress=progress)

    def tokens(self, receptors: pa.Table) -> Tokens:
        """Return the tokens of the loops that the model reads."""
        return tokenise(receptors, self.loaded.config.loops)

    def embed_tokens(self, tokens: Tokens, *, progress=None) -> np.ndarray:
        """Return the vectors of tokenised receptors, as `embed` does; on a GPU, for one thread at a time."""
        progress = progress or counter("receptors embedded", len(tokens), ends=False)
        if self.device == "cpu":
            return inference.embed(self.network, tokens, threads=self.threads, progress=progress)
        from airrvec.model import transformer

        options = {"device": "cuda", "precision": self.precision, "progress": progress}
        return transformer.embed(self.loaded.encoder, tokens, **options)
