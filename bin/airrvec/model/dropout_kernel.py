"""Compiled loop of `airrvec.model.dropout`, by numba."""

from airrvec.core.runtime import numba_threads

import numba
import numpy as np


def scale(x: np.ndarray, result: np.ndarray, p: float, seed: int, threads: int) -> None:
    """
    Apply dropout to ``x`` and write it to ``result``.

    Parameters
    ----------
    x, result : ndarray of float32, shape (n,)
        Input, and output: 0, or the input times 1 / (1 - p).
    p : float
        Probability of 0.
    seed : int
        Seed of 62 bits; seed and position determine whether a value becomes 0.
    threads : int
        Number of threads, limited to numba's.
    """
    halves = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    with numba_threads(threads):
        _scale(x, result, np.uint32(round(p * 2**32)), np.float32(1 / (1 - p)), *halves)


@numba.njit(parallel=True, fastmath=True, cache=True)
def _scale(x, result, threshold, scale, seed, seed2):
    for i in numba.prange(x.size):
        # MurmurHash3's finaliser of the position, applied twice, each time with half of the seed.
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
