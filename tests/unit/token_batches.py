"""Batches of tokens, and their rows read back."""

from fractions import Fraction
from math import ceil

from airrvec.model import tokens as tk
from airrvec.training.data import PaddedTokens, pad

import numpy as np
import pytest
import torch
from hypothesis import settings
from hypothesis import strategies as st

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")),
]
SEARCH = settings(max_examples=60, deadline=None, derandomize=True)


def generator(seed: int = 0, device: str = "cpu") -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


def tokens_of(loop_lengths: list[list[int]], seed: int = 0) -> tk.Tokens:
    """Receptors of random residues with loops of these lengths, laid out one token after another."""
    rng = np.random.default_rng(seed)
    values, offsets = [], [0]
    for lengths in loop_lengths:
        values.append((tk.CLS, 0, 0, 0))
        for loop, length in enumerate(lengths, start=1):
            for position in range(1, length + 1):
                residue = rng.integers(tk.FIRST_AMINO_ACID, tk.N_RESIDUES)
                values.append((residue, position, length, loop))
        offsets.append(len(values))
    return tk.Tokens(np.array(values, np.uint8).reshape(-1, 4), np.array(offsets))


def batch_of(loop_lengths: list[list[int]], seed: int = 0) -> PaddedTokens:
    return pad(tokens_of(loop_lengths, seed), np.arange(len(loop_lengths)))


def rows_of(batch: PaddedTokens) -> list[list[tuple]]:
    """Tokens of each receptor, after a look at the padding: at the end, zeros, and none to spare."""
    rows = []
    for tokens, padding in zip(batch.tokens.tolist(), batch.padding.tolist(), strict=True):
        n = padding.index(True) if True in padding else len(padding)
        assert all(padding[n:])
        assert all(token == [0, 0, 0, 0] for token in tokens[n:])
        rows.append([tuple(token) for token in tokens[:n]])
    assert batch.tokens.shape[:2] == batch.padding.shape
    assert batch.tokens.shape[1] == max(len(row) for row in rows)
    assert batch.tokens.dtype == torch.int64
    return rows


def share(fraction: Fraction, n: int) -> int:
    return ceil(fraction * n)


hundredths = st.integers(0, 100).map(lambda hundredth: Fraction(hundredth, 100))
seeds = st.integers(0, 2**32)
six_loops = st.lists(st.integers(0, 9), min_size=6, max_size=6)
batches = st.lists(six_loops, min_size=1, max_size=6)
PAIRED = [5, 4, 12, 5, 6, 13]
