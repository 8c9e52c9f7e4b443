"""
Dropout that is quick on CPUs.

torch draws the numbers of a dropout one after another on one core, and passes over the values four
times; in training small transformers on a CPU that is half of the time. Here a number is a hash of a
seed and the value's place, computed by all cores in the one pass that scales the values.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Dropout(nn.Module):
    """
    Zero each value with probability ``p`` and scale the others by 1 / (1 - p), in training.

    On a CPU the numbers follow from torch's generator, by one seed a call, and not from the number of
    threads; other devices, and other types than float32, use torch's own dropout.

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
        # The numbers are computed once more, which is quicker than to keep them.
        return _scaled(gradient, ctx.p, ctx.seed), None, None


def _scaled(x: Tensor, p: float, seed: int) -> Tensor:
    from airrvec.model.dropout_kernel import scale  # numba takes a second, which embedding need not wait

    x = x.detach().contiguous()
    result = torch.empty_like(x)
    scale(x.view(-1).numpy(), result.view(-1).numpy(), p, seed, torch.get_num_threads())
    return result
