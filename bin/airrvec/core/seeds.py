"""Random generators derived from a seed and names, and short hashes."""

import hashlib
from collections.abc import Iterable

import numpy as np


def generator(seed: int, *names) -> np.random.Generator:
    """Return a generator seeded by ``seed`` and ``names``: a new epitope or k does not change the others."""
    key = hashlib.sha256("|".join(map(str, (seed, *names))).encode()).digest()
    return np.random.default_rng(np.frombuffer(key, np.uint32))


def short_hash(words: Iterable[str]) -> str:
    """Return 16 hexadecimal digits of a hash of the words; their order matters."""
    return hashlib.sha256("".join(words).encode()).hexdigest()[:16]
