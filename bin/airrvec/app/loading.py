"""``airrvec.load``: a model as a module of PyTorch."""

from pathlib import Path
from typing import TYPE_CHECKING

from airrvec.core.errors import InputError, is_installed, kind, require_extra
from airrvec.model import weights
from airrvec.model.variants import VARIANTS

if TYPE_CHECKING:
    from airrvec.app.receptor_model import ReceptorModel


def load(
    model: str | Path = "sceptr", *, device: str = "cpu", dropout: float | None = None
) -> "ReceptorModel":
    """
    Return a model as a `torch.nn.Module`, to train, to change or to embed with.

    Parameters
    ----------
    model : str or Path
        Published variant, or folder of a model.
    device : {"cpu", "auto", "gpu"}
        Device of the weights; ``auto`` is a GPU if there is one.
    dropout : float, optional
        Dropout in training, from 0 to below 1; that of the model by default.

    Returns
    -------
    airrvec.app.receptor_model.ReceptorModel
        In evaluation mode. ``tokenise`` turns a table into a batch, ``model(batch.tokens, batch.padding)``
        gives vectors with gradients, ``embed`` vectors without; ``save`` writes a folder for ``--model``.

    Raises
    ------
    InputError
        If there is no such model or device, its folder is damaged, or torch is not installed.

    Examples
    --------
    >>> import airrvec
    >>> import pandas as pd
    >>> model = airrvec.load("sceptr")
    >>> receptors = pd.DataFrame({"trb_v_call": ["TRBV19", "TRBV20-1"],
    ...                           "trb_junction_aa": ["CASSIRSSYEQYF", "CSARDGTGNGYTF"]})
    >>> batch = model.tokenise(receptors)
    >>> model(batch.tokens, batch.padding).shape
    torch.Size([2, 64])
    >>> model.embed(receptors).shape
    (2, 64)
    """
    if not isinstance(model, str | Path):
        raise InputError(
            f"the model is {kind(model)}, not a name or a path",
            fix=f"Give the folder of a model, or one of {', '.join(VARIANTS)}",
        )
    if not is_installed("torch"):
        require_extra("learn", "a model in PyTorch")
    from airrvec.app.receptor_model import ReceptorModel
    from airrvec.model.transformer import torch_device

    return ReceptorModel(weights.load(str(model)), dropout=dropout).to(torch_device(device))
