"""Random generators that follow from a seed and names, and short digests."""

import hashlib
from collections.abc import Iterable

import numpy as np


def generator(seed: int, *names) -> np.random.Generator:
    """Return random numbers seeded by names as well: adding an epitope or a k changes no other's."""
    key = hashlib.sha256("|".join(map(str, (seed, *names))).encode()).digest()
    return np.random.default_rng(np.frombuffer(key, np.uint32))


def short_hash(words: Iterable[str]) -> str:
    """Return 16 hexadecimal digits of a hash of words in their order."""
    return hashlib.sha256("".join(words).encode()).hexdigest()[:16]
