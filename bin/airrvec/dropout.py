"""
Dropout that is quick on CPUs.

torch draws the numbers of a dropout one after another on one core, and passes over the values four
times; in training small transformers on a CPU that is half of the time. Here a number is a hash of a
seed and the value's place, computed by all cores in the one pass that scales the values.
"""

import numba
import numpy as np
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
    x = x.detach().contiguous()
    result = torch.empty_like(x)
    threads = max(1, min(torch.get_num_threads(), numba.config.NUMBA_NUM_THREADS))
    numba.set_num_threads(threads)
    _scale(
        x.view(-1).numpy(),
        result.view(-1).numpy(),
        np.uint32(round(p * 2**32)),
        np.float32(1 / (1 - p)),
        np.uint32(seed & 0xFFFFFFFF),
        np.uint32(seed >> 32),
    )
    return result


@numba.njit(parallel=True, fastmath=True, cache=True)
def _scale(x, result, threshold, scale, seed, seed2):
    for i in numba.prange(x.size):
        # The finaliser of MurmurHash3 over the place, twice, each with half of the seed.
        h = _finalised(np.uint32(np.uint32(i) ^ seed), np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35))
        h = _finalised(np.uint32(h + seed2), np.uint32(0x2C1B3C6D), np.uint32(0x297A2D39))
        result[i] = x[i] * scale if h >= threshold else np.float32(0)


@numba.njit(inline="always")
def _finalised(h, first, second):
    # Numba widens every result to 64 bits.
    h = np.uint32(h ^ (h >> np.uint32(16)))
    h = np.uint32(h * first)
    h = np.uint32(h ^ (h >> np.uint32(13)))
    h = np.uint32(h * second)
    return np.uint32(h ^ (h >> np.uint32(16)))
