"""A model as a module of PyTorch, with receptors of tables in and vectors out."""

from dataclasses import replace
from pathlib import Path

from airrvec.app import memory
from airrvec.app.api import standardised
from airrvec.app.memory import Cells, Frame
from airrvec.core.errors import InputError, kind
from airrvec.core.terminal import counted
from airrvec.model import tokens as tk
from airrvec.model import transformer, weights
from airrvec.model.transformer import ReceptorEncoder
from airrvec.model.variants import VARIANTS
from airrvec.training.data import PaddedTokens, pad

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import torch

_FIX = "Give a DataFrame or a pyarrow.Table, such as airrvec.read returns, or cells of scirpy"


class ReceptorModel(ReceptorEncoder):
    """
    A model, as `airrvec.load` returns it: a `torch.nn.Module`.

    ``model(tokens, padding)`` is `airrvec.model.transformer.ReceptorEncoder.forward`: vectors of length 1,
    shape (n, d_model), with gradients. `train`, `eval`, `to`, `parameters` and the rest are PyTorch's.

    Parameters
    ----------
    loaded : LoadedModel
        From `airrvec.model.weights.load`.
    dropout : float, optional
        Dropout in training; that of the model by default.

    Attributes
    ----------
    name : str
        Name in reports.
    config : ModelConfig
        Shape of the model.
    """

    def __init__(self, loaded: weights.LoadedModel, dropout: float | None = None):
        try:
            super().__init__(
                loaded.config if dropout is None else replace(loaded.config, dropout=float(dropout))
            )
        except (TypeError, ValueError) as error:
            raise InputError(f"the dropout does not fit: {error}") from error
        self.name = loaded.name
        self.load_state_dict({name: torch.tensor(array) for name, array in loaded.state.items()})
        self.eval()

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.mlm_head.weight.device

    def tokenise(self, receptors: Frame | Cells) -> PaddedTokens:
        """
        Return receptors as one batch on the device of the model.

        Parameters
        ----------
        receptors : table, AnnData or MuData
            As for `airrvec.embed`; gene names are standardised.

        Returns
        -------
        PaddedTokens
            ``tokens``, int64, shape (n, T, 4): residue, position, length and loop of each token. ``padding``,
            bool, shape (n, T). Row by row as in the table; ``batch[rows]`` are some of them.

        Raises
        ------
        InputError
            If it is no table, has no junction column, or rows have no loop that the model reads.
        """
        tokens = self.tokens(receptors)
        empty = np.flatnonzero(tokens.lengths < 2)
        if len(empty):
            listed = ", ".join(map(str, empty[:5])) + (", …" if len(empty) > 5 else "")
            raise InputError(
                f"{counted(len(empty), 'row has', 'rows have')} no receptor that the model reads, or one that"
                f" was rejected (row numbers from 0: {listed})",
                fix="Leave them out; airrvec.embed says why they were rejected",
            )
        return pad(tokens, np.arange(len(tokens))).to(self.device)

    def embed(self, receptors: Frame | Cells) -> np.ndarray:
        """
        Return the vectors of receptors, without dropout and without gradients.

        Parameters
        ----------
        receptors : table, AnnData or MuData
            As for `airrvec.embed`; gene names are standardised.

        Returns
        -------
        ndarray of float32, shape (n, d_model)
            l2-normalised, row by row; NaN for a row that was rejected or has no loop that the model reads.

        Raises
        ------
        InputError
            If it is no table, or has no junction column.
        """
        was_training = self.training
        try:
            return transformer.embed(self, self.tokens(receptors), device=self.device.type)
        finally:
            self.train(was_training)

    def save(self, folder: str | Path, name: str | None = None) -> None:
        """
        Write the folder of a model, for ``--model``, `airrvec.embed` and `airrvec.load`.

        Parameters
        ----------
        folder : str or Path
            Created if it does not exist; a model in it is replaced.
        name : str, optional
            Name in reports; that of the folder by default.

        Raises
        ------
        InputError
            If a published model has the name.
        """
        folder = Path(folder)
        name = folder.name if name is None else name
        if name in VARIANTS:
            raise InputError(f"'{name}' is the name of a published model", fix="Give another name")
        weights.save(self, name, folder, {"start": self.name})

    def tokens(self, receptors: Frame | Cells) -> tk.Tokens:
        """
        Return the tokens of receptors as they are, for `airrvec.training.data.Receptors`.

        Parameters
        ----------
        receptors : table, AnnData or MuData
            As for `airrvec.embed`; gene names are standardised.

        Returns
        -------
        Tokens
            Row by row; of a row without a receptor, only ``<cls>``.

        Raises
        ------
        InputError
            If it is no table, or has no junction column.
        """
        part = _table(receptors)
        result = standardised(part)
        tokens = tk.tokenise(result.receptors, self.config.loops)
        lone = np.array([[tk.CLS, 0, 0, 0]], np.uint8)
        offsets = [*tokens.offsets, tokens.offsets[-1] + 1]
        with_lone = tk.Tokens(np.concatenate([tokens.values, lone]), np.array(offsets))  # noqa: PD011 - no pandas
        rows = np.full(len(part.frame), len(tokens))
        ids = result.receptors["receptor_id"].combine_chunks()
        own = pc.index_in(result.cells["receptor_id"].combine_chunks(), ids).to_numpy()
        rows[result.cells["cell_id"].cast(pa.int64()).to_numpy()] = own
        return with_lone.take(rows)


def _table(receptors: object) -> memory.Part:
    """Return the table that a caller gives; raise `InputError` if it is none, or several."""
    is_frame = isinstance(receptors, pd.DataFrame) or hasattr(receptors, "__arrow_c_stream__")
    if not is_frame and memory.cells_of(receptors) is None:
        fix = f"Read it with airrvec.read({str(receptors)!r})" if isinstance(receptors, str | Path) else _FIX
        raise InputError(f"the receptors are {kind(receptors)}, and no table", fix=fix)
    (part,) = memory.parts_of(receptors, "receptors")
    return part
