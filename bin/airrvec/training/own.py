"""A user's own loss and callbacks: Python files, and the check of what they return against the contract."""

import inspect
from collections.abc import Callable
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.core.own_code import OwnCode, short
from airrvec.training.losses import Loss

import torch
from torch import Tensor

CONTRACT = "The contract is in docs/guides/training.md"
# Arguments that a loss may take beside the views, by their names.
ARGUMENTS = ("labels", "known_labels", "receptors", "temperature", "anchors")


def load_loss(path: Path) -> Loss:
    """
    Return the loss of a Python file, which is executed.

    Raises
    ------
    InputError
        If the file is missing, cannot be executed, or breaks the contract.
    """
    code = OwnCode(path, CONTRACT, passing=(torch.OutOfMemoryError,))
    module = code.module()
    code.require(module, "loss", "TITLE")
    title = code.title(module)
    code.require_callable("loss", module.loss)
    return from_function(module.loss, title, code)


def from_function(function: Callable[..., Tensor], title: str, code: OwnCode | None = None) -> Loss:
    """
    Return the loss that a function computes.

    Parameters
    ----------
    function : callable
        Views, shape (N, 2, d), and those of `ARGUMENTS` that it names → the loss, a tensor of shape (). It
        learns from labels if it takes ``labels`` or ``known_labels``.
    title : str
        Name of the loss for a person.
    code : OwnCode, optional
        The file that the function is from.

    Raises
    ------
    InputError
        If an argument has another name and no default.
    """
    checked = OwnLoss(function, code)
    return Loss(checked, needs_labels=bool({"labels", "known_labels"} & {*checked.arguments}), title=title)


class OwnLoss:
    """A user's loss, whose value is checked at each step; arguments as of `from_function`."""

    def __init__(self, function: Callable[..., Tensor], code: OwnCode | None):
        self._function, self._code = function, code
        try:
            _, *more = inspect.signature(function).parameters.values()
        except ValueError as error:  # no argument, or a function without a signature
            raise self._breach("loss() takes no argument, and must take the views first") from error
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        more = [parameter for parameter in more if parameter.kind not in kinds]
        for parameter in more:
            if parameter.name not in ARGUMENTS and parameter.default is inspect.Parameter.empty:
                raise self._breach(
                    f"loss() takes '{parameter.name}', which is none of {', '.join(ARGUMENTS)} and has no"
                    " default"
                )
        self.arguments = tuple(parameter.name for parameter in more if parameter.name in ARGUMENTS)

    def __call__(self, views: Tensor, *, anchors: slice, **options) -> Tensor:
        """Return the loss of the anchors; of a function without anchors their share of the loss of all."""
        options["anchors"] = anchors
        options = {name: options[name] for name in self.arguments}
        if self._code is None:
            loss = self._function(views, **options)
        else:
            loss = self._code.call("loss()", self._function, views, **options)
        self._check(loss, views)
        if "anchors" in self.arguments:
            return loss
        return loss * ((anchors.stop - anchors.start) / len(views))

    def _check(self, loss: object, views: Tensor) -> None:
        due = "must return a tensor of one number, of the shape ()"
        if not isinstance(loss, Tensor):
            raise self._breach(f"loss() returned {short(loss)}, and {due}")
        if loss.shape != ():
            raise self._breach(f"loss() returned the shape {tuple(loss.shape)}, and {due}")
        if not loss.is_floating_point():
            raise self._breach(f"loss() returned {loss.dtype}, and must return a floating-point number")
        if views.requires_grad and not loss.requires_grad:
            raise self._breach("loss() returned a number without a gradient; compute it from the views")

    def _breach(self, problem: str) -> InputError:
        return self._code.breach(problem) if self._code else InputError(problem, fix=CONTRACT)


def load_callbacks(path: Path) -> list:
    """
    Return the Lightning callbacks of a Python file, which is executed.

    Raises
    ------
    InputError
        If the file is missing, cannot be executed, or its ``callbacks()`` returns anything else.
    """
    import lightning as L

    code = OwnCode(path, CONTRACT)
    module = code.module()
    code.require(module, "callbacks")
    code.require_callable("callbacks", module.callbacks)
    callbacks = code.call("callbacks()", module.callbacks)
    due = "must return a list of lightning.Callback"
    if not isinstance(callbacks, list | tuple):
        raise code.breach(f"callbacks() returned {short(callbacks)}, and {due}")
    for callback in callbacks:
        if not isinstance(callback, L.Callback):
            raise code.breach(f"callbacks() returned a list with {short(callback)}, and {due}")
    return list(callbacks)
