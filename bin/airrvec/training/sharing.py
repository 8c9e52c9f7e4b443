"""
Communication between devices that share a batch. All devices make the same calls in the same order.

Between two calls each device computes independently, and its memory may run out. One device must not repeat a
call that the others do not repeat. `attempt` therefore reports the failure to all devices, so that they
repeat the step together.
"""

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor


def attempt(function: Callable, device: torch.device) -> tuple[bool, object]:
    """
    Call a function that does not communicate, and share whether memory was sufficient.

    Returns
    -------
    bool
        Whether memory was sufficient on all devices.
    object
        Return value of the function; None if memory was insufficient on any device.
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


def gather(own: Tensor) -> Tensor:
    """Return the rows of all devices, without gradients; each device has the same number of rows."""
    own = own.detach().contiguous()
    if not _is_shared():
        return own
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    return torch.cat(parts)


def sum_over_devices(values: Tensor) -> Tensor:
    """Sum values over devices, in place, and return them."""
    if _is_shared():
        dist.all_reduce(values)
    return values


def average_gradients(parameters: list[torch.nn.Parameter]) -> None:
    """Replace each gradient by its mean over devices; a missing gradient counts as zero."""
    if not _is_shared():
        return
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    joined = sum_over_devices(torch.cat([parameter.grad.flatten() for parameter in parameters]))
    joined /= dist.get_world_size()
    sizes = [parameter.numel() for parameter in parameters]
    for parameter, values in zip(parameters, joined.split(sizes), strict=True):
        parameter.grad.copy_(values.view_as(parameter))


def _is_shared() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
