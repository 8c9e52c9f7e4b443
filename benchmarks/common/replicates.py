"""Simulated blood: clones, and counts of replicates with the noise of `airrvec.stats.count_changes`."""

from airrvec.stats.count_changes import Counts, Noise

import numpy as np


def blood(rng: np.random.Generator, n_clones: int = 20_000) -> np.ndarray:
    """Return shares of clones, of which the n-th largest has about 1/n."""
    shares = 1 / np.arange(1, n_clones + 1) ** rng.uniform(0.9, 1.1)
    return shares / shares.sum()


def drawn(shares: np.ndarray, n: int, noise: Noise, rng: np.random.Generator) -> np.ndarray:
    """Return counts of a replicate: gamma noise of a clone, Poisson molecules, 1 + Poisson reads of each."""
    size = 1 / noise.dispersion
    means = shares * rng.gamma(size, 1 / size, len(shares)) * n / noise.copies
    molecules = rng.poisson(means)
    return molecules if noise.copies == 1 else rng.poisson(molecules * (noise.copies - 1)) + molecules


def counts_of(before: np.ndarray, after: np.ndarray) -> Counts:
    """Return counts whose totals are their sums."""
    return Counts(before, after, (int(before.sum()), int(after.sum())))
