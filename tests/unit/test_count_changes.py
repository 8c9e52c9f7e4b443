"""Changes of counts between two samples: exact p, noise that is recovered, errors and power by simulation."""

from airrvec.repertoire.following import noise_of
from airrvec.stats.count_changes import (
    LISTED,
    Counts,
    Noise,
    _two_sided,
    changes,
    estimate,
)
from airrvec.stats.significance import benjamini_hochberg

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.common.replicates import blood, counts_of, drawn

NOISES = {"part": st.floats(0.05, 0.95), "copies": st.floats(1, 20), "dispersion": st.floats(0.001, 2)}


@given(total=st.integers(2, 400), **NOISES)
def test_p_is_twice_the_smaller_tail(total, part, copies, dispersion):
    alpha, beta = map(float, Noise(copies, dispersion).shapes(np.array(total), part))
    outcomes = np.arange(total + 1)
    law = stats.betabinom(total, alpha, beta)
    probabilities = law.pmf(outcomes)
    expected = np.minimum(1, 2 * np.minimum(probabilities.cumsum(), probabilities[::-1].cumsum()[::-1]))
    found = _two_sided(outcomes, total, alpha, beta)
    if expected.min() > 0.05 * (1 + 1e-9):
        assert np.isnan(found).all()
    elif expected.min() < 0.05 * (1 - 1e-9):
        assert np.allclose(found, expected, rtol=1e-6, atol=1e-12)


@given(total=st.integers(2, 10_000), **NOISES)
def test_the_variance_is_that_of_the_noise(total, part, copies, dispersion):
    noise = Noise(copies, dispersion)
    variance = stats.betabinom(total, *noise.shapes(np.array(total), part)).var()
    binomial = total * part * (1 - part)
    spread = 2 * dispersion * part * (1 - part)
    expected = min(copies + spread / (1 + spread) * total, 1 + 0.999 * (total - 1))
    assert np.isclose(variance, binomial * expected, rtol=1e-4)


def test_without_noise_it_is_the_binomial_test():
    counts = Counts(np.array([3, 10, 40, 0]), np.array([12, 10, 5, 9]), (1000, 1500))
    p = changes(counts, Noise(1.0, 1e-9)).p
    for row, (before, after) in enumerate(zip(counts.before, counts.after, strict=True)):
        n, m = before + after, 0.6
        tails = stats.binom.cdf(after, n, m), stats.binom.sf(after - 1, n, m)
        assert np.isclose(p[row], min(1, 2 * min(tails)), rtol=1e-4)


def test_many_counts_have_the_p_of_the_sum_of_outcomes():
    alpha, beta = map(float, Noise(1.5, 0.02).shapes(np.array(LISTED), 0.4))
    after = np.array([2_000, 2_500, 3_500, 4_000, 5_000, 5_500])
    listed = _two_sided(after, LISTED, alpha, beta)
    alpha, beta = map(float, Noise(1.5, 0.02).shapes(np.array(LISTED + 1), 0.4))
    assert np.allclose(np.log(_two_sided(after, LISTED + 1, alpha, beta)), np.log(listed), atol=0.12)


def test_counts_that_may_be_copies_of_one_molecule_are_not_tested():
    counts = Counts(np.array([0, 0, 0]), np.array([5, 20, 200]), (1000, 1000))
    p = changes(counts, Noise(30.0, 0.01)).p
    assert np.isnan(p[:2]).all()
    assert p[2] < 0.05


@pytest.mark.parametrize("noise", [Noise(1.0, 0.05), Noise(1.0, 0.3), Noise(6.0, 0.1)])
def test_the_noise_of_replicates_is_recovered(noise):
    rng = np.random.default_rng(1)
    shares = blood(rng)
    pairs = [counts_of(*(drawn(shares, n, noise, rng) for n in (40_000, 60_000))) for _ in range(3)]
    found = estimate(pairs)
    assert np.isclose(found.dispersion, noise.dispersion, rtol=0.25)
    assert np.isclose(found.copies, noise.copies, rtol=0.25)


def test_without_replicates_a_cell_counts_once_and_reads_may_be_copies():
    rng = np.random.default_rng(2)
    shares = blood(rng)
    pair = counts_of(*(drawn(shares, 40_000, Noise(6.0, 0.01), rng) for _ in range(2)))
    assert noise_of(pair, "cells") == (Noise(1.0, 0.0), "sampling")
    noise, source = noise_of(pair, "reads")
    assert source == "sampling"
    assert noise.dispersion == 0
    assert 5 < noise.copies < 9
    few = pair.select(np.arange(10))
    assert noise_of(few, "reads") == (Noise(2.0, 0.0), "sampling")
    assert noise_of(few, "reads", Noise(3.0, 0.1)) == (Noise(3.0, 0.1), "replicates")


KINDS = [("cells", Noise(1.0, 0.001)), ("UMIs", Noise(1.5, 0.001)), ("reads", Noise(8.0, 0.005))]


@pytest.mark.parametrize("depths", [(20_000, 20_000), (6_000, 40_000)])
@pytest.mark.parametrize("unit", [unit for unit, _ in KINDS])
def test_samples_of_the_same_blood_seldom_differ(unit, depths):
    """Goal of the calls between replicates: at most 5 % at a false discovery rate of 5 %."""
    assert_seldom(dict(KINDS)[unit], depths, lambda pair, _: noise_of(pair, unit)[0])


@pytest.mark.parametrize("noise", [Noise(1.0, 0.3), Noise(1.5, 0.15), Noise(8.0, 0.1)])
def test_replicates_seldom_differ_beyond_their_noise(noise):
    assert_seldom(noise, (20_000, 20_000), lambda _, another: estimate([another]))


def assert_seldom(noise, depths, estimated) -> None:
    rng = np.random.default_rng(3)
    significant, called, tested = 0, 0, 0
    for _ in range(8):
        shares = blood(rng)
        pair, another = (counts_of(*(drawn(shares, n, noise, rng) for n in depths)) for _ in range(2))
        p = changes(pair, estimated(pair, another)).p
        known = np.isfinite(p)
        tested += known.sum()
        significant += (p[known] <= 0.05).sum()
        called += (benjamini_hochberg(p) <= 0.05).sum()
    assert tested > 300
    assert significant / tested <= 0.07
    assert called / tested <= 0.01


@pytest.mark.parametrize(("noise", "least"), [(Noise(1.0, 0.001), 0.95), (Noise(1.0, 0.02), 0.9)])
def test_clones_that_grow_fourfold_are_seen(noise, least):
    """Goal: 90 % of clones with ten cells or more that are spiked at four-fold."""
    rng = np.random.default_rng(4)
    seen, spiked = 0, 0
    for _ in range(8):
        shares = blood(rng)
        before, after = (drawn(shares, 30_000, noise, rng) for _ in range(2))
        chosen = rng.choice(np.flatnonzero((after >= 10) & (shares < 0.005)), 30, replace=False)
        after[chosen] *= 4
        p = changes(counts_of(before, after), noise_of(counts_of(before, after), "cells")[0]).p
        seen += (benjamini_hochberg(p)[chosen] <= 0.05).sum()
        spiked += len(chosen)
    assert seen / spiked >= least


def test_replicates_on_both_sides_are_less_noise():
    counts = Counts(np.array([100]), np.array([250]), (10_000, 10_000), (3, 3))
    single = Counts(counts.before, counts.after, counts.totals)
    noise = Noise(1.0, 0.2)
    assert changes(counts, noise).p[0] < 0.03 < changes(single, noise).p[0]
    assert np.isclose(noise.inflation(350, 0.5, (3, 3)), 1 + 0.1 / 3 / (1 + 0.1 / 3) * 350)


def test_the_interval_covers_the_change():
    rng = np.random.default_rng(5)
    shares, noise = blood(rng, 2_000), Noise(1.0, 0.05)
    factor = np.where(rng.random(len(shares)) < 0.5, 1, 3.0)
    grown = shares * factor / (shares * factor).sum()
    before, after = drawn(shares, 50_000, noise, rng), drawn(grown, 50_000, noise, rng)
    pair, known = counts_of(before, after), before + after >= 10
    made = changes(pair, noise)
    true = grown / shares
    inside = (made.low <= true) & (true <= made.high)
    assert 0.92 <= inside[known].mean() <= 0.98
