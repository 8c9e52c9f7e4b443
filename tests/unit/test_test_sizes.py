"""Size and power of the tests of conditions, by simulation: few draws, with a seed."""

from airrvec.repertoire.conditions import discrepancy
from airrvec.stats import rank_tests
from airrvec.stats.designs import designs
from airrvec.stats.significance import permutation_p

import numpy as np
import pandas as pd
import pytest

N_DRAWS = 400
ALPHA = 0.05
DESIGNS = {
    "two groups": [(f"d{n}", "xy"[n % 2], "1") for n in range(14)],
    "pairs": [(f"d{n}", value, "1") for n in range(9) for value in "xy"],
    "batches": [(f"d{n}", "xy"[n % 2], "1" if n < 8 else "2") for n in range(16)],
    "three values": [(f"d{n}", "xyz"[n % 3], "1") for n in range(15)],
    "trend": [(f"d{n}", str(day), "1") for n in range(6) for day in (0, 7, 28)],
}


def made(name: str):
    table = pd.DataFrame(DESIGNS[name], columns=["donor", "value", "batch"])
    table = table.set_axis([f"s{n}" for n in range(len(table))])
    return designs(table, "value", "batch" if name == "batches" else None)[0]


def draws(design, effect: float, rng) -> np.ndarray:
    """Skewed numbers of units: of donors and batches that differ much, and of values that differ."""
    of_donors = dict(zip(np.unique(design.donors), rng.normal(size=(20, N_DRAWS)) * 2, strict=False))
    base = np.array([of_donors[donor] for donor in design.donors]) if design.paired else 0
    base = base + 2 * design.blocks[:, None] if design.within == "batch" else base
    scaled = design.labels / max(design.labels.max(), 1)
    return np.exp(base + rng.normal(size=(len(design.labels), N_DRAWS)) + effect * scaled[:, None])


@pytest.mark.parametrize("name", DESIGNS)
def test_without_a_difference_p_is_low_as_seldom_as_it_says(name):
    rng, design = np.random.default_rng(11), made(name)
    p = rank_tests.rank_test(draws(design, 0, rng), design, 499, rng)
    limit = ALPHA + 3 * (ALPHA * (1 - ALPHA) / N_DRAWS) ** 0.5
    assert (p <= ALPHA).mean() <= limit
    assert (p <= ALPHA).mean() > 0.01  # of a design that can reach it
    assert design.least_p < ALPHA


@pytest.mark.parametrize("name", DESIGNS)
def test_a_difference_is_seen(name):
    """Of three standard deviations of a unit, which differences between donors do not hide."""
    rng, design = np.random.default_rng(12), made(name)
    p = rank_tests.rank_test(draws(design, 3, rng), design, 499, rng)
    assert (p <= ALPHA).mean() > 0.9


@pytest.mark.parametrize("name", ["two groups", "pairs", "batches", "three values"])
def test_similarities_are_tested_at_their_size(name):
    """Vectors of units that differ between donors and batches, not between values; then between them too."""
    rng, design = np.random.default_rng(13), made(name)
    p = {0.0: [], 2.0: []}
    for effect, values in p.items():
        for _ in range(120):
            vectors = rng.normal(size=(len(design.labels), 4))
            if design.within:
                vectors += 2 * rng.normal(size=(design.blocks.max() + 1, 4))[design.blocks]
            vectors[:, 0] += effect * design.labels
            similarity = -((vectors[:, None] - vectors) ** 2).sum(axis=2)
            values.append(permutation_p(discrepancy(similarity, design, design.arrangements(199, rng))))
    assert (np.array(p[0.0]) <= ALPHA).mean() <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 120) ** 0.5
    assert (np.array(p[2.0]) <= ALPHA).mean() > 0.5
