"""The one place that makes random generators: from a seed and names, or from numbers; and short hashes."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np


def generator(seed: int, *names) -> np.random.Generator:
    """Return a generator seeded by ``seed`` and ``names``: a new epitope or k does not change the others."""
    key = hashlib.sha256("|".join(map(str, (seed, *names))).encode()).digest()
    return numbered_generator(np.frombuffer(key, np.uint32))


def numbered_generator(numbers: int | Sequence[int] | np.ndarray) -> np.random.Generator:
    """Return a generator seeded by one or several numbers, none of them negative."""
    # PCG64 by name, because numpy may change what `default_rng` returns.
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(numbers)))


def derived_seed(*numbers: int) -> int:
    """Return a 63-bit seed derived from several numbers, for a generator that is not numpy's."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))


def short_hash(words: Iterable[str]) -> str:
    """Return 16 hexadecimal digits of a hash of the words; their order matters."""
    return hashlib.sha256("".join(words).encode()).hexdigest()[:16]
