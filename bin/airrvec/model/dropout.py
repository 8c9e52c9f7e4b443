"""
Fast dropout on CPUs.

torch draws the random numbers of a dropout sequentially on one core and passes over the values four times:
half of the time of training a small transformer on a CPU. Here each random number is a hash of a seed and
the value's position; all cores compute the hashes in the same pass that scales the values.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Dropout(nn.Module):
    """
    Zero each value with probability ``p`` and scale the others by 1 / (1 - p), in training.

    On a CPU, torch's generator gives one seed per call; results do not depend on the number of threads.
    Other devices, and types other than float32, use torch's own dropout.

    Parameters
    ----------
    p : float
        From 0 to below 1.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu" or x.dtype != torch.float32:
            return F.dropout(x, self.p)
        return _Dropout.apply(x, self.p, int(torch.randint(2**62, ())))


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, p: float, seed: int) -> Tensor:
        ctx.p, ctx.seed = p, seed
        return _scaled(x, p, seed)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        # Computing the random numbers again is faster than storing them.
        return _scaled(gradient, ctx.p, ctx.seed), None, None


def _scaled(x: Tensor, p: float, seed: int) -> Tensor:
    from airrvec.model.dropout_kernel import scale  # numba takes a second; embedding does not need it here

    x = x.detach().contiguous()
    result = torch.empty_like(x)
    scale(x.view(-1).numpy(), result.view(-1).numpy(), p, seed, torch.get_num_threads())
    return result
