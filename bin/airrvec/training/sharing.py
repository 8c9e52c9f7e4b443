"""
What devices that share a batch tell each other; each call is one that all of them make, in the same order.

Between two calls a device computes alone, and there its memory may run out. No device may then repeat a call
that the others do not repeat: `attempted` lets all of them know, so that they repeat the step together.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor


def attempted(function: Callable, device: torch.device) -> tuple[bool, object]:
    """
    Call a function that tells other devices nothing.

    Returns
    -------
    bool
        Whether memory sufficed, on all devices.
    object
        What the function returned; None where memory did not suffice.
    """
    failed = torch.zeros((), device=device)
    result = None
    try:
        result = function()
    except torch.OutOfMemoryError:
        failed += 1
    if _is_shared():
        dist.all_reduce(failed, dist.ReduceOp.MAX)
    return (True, result) if failed == 0 else (False, None)


def gathered(own: Tensor) -> Tensor:
    """The rows of all devices, which have as many each; without gradients."""
    own = own.detach().contiguous()
    if not _is_shared():
        return own
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    return torch.cat(parts)


def total(values: Tensor) -> Tensor:
    """The sum over devices, in place."""
    if _is_shared():
        dist.all_reduce(values)
    return values


def average_gradients(parameters: list[torch.nn.Parameter]) -> None:
    """Put the mean over devices in place of each gradient; a device without one counts as zero."""
    if not _is_shared():
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    joined = total(torch.cat([parameter.grad.flatten() for parameter in parameters]))
    joined /= dist.get_world_size()
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, values in zip(parameters, joined.split(sizes), strict=True):
        parameter.grad.copy_(values.view_as(parameter))


def _is_shared() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
