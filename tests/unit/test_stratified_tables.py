"""Two features of units in strata: exact law, odds ratio, false discovery rate of few possible p."""

from itertools import permutations, product

from airrvec.stats.significance import benjamini_hochberg, discrete_fdr
from airrvec.stats.stratified_tables import joint

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats.contingency import odds_ratio
from statsmodels.stats.contingency_tables import StratifiedTable


@st.composite
def small_strata(draw):
    """Draw whether units of one or two strata have either feature."""
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=2))
    return [tuple(draw(st.lists(st.booleans(), min_size=n, max_size=n)) for _ in range(2)) for n in sizes]


@given(small_strata())
@settings(deadline=None)
def test_p_is_the_share_of_all_exchanges_within_strata(strata):
    law = joint([(len(one), sum(one), sum(other)) for one, other in strata])
    sums = [[sum(map(min, one, arranged)) for arranged in permutations(other)] for one, other in strata]
    every = np.array([sum(numbers) for numbers in product(*sums)])
    assert law.first == every.min()
    assert law.first + len(law.weights) - 1 == every.max()
    shares = [(every >= law.first + place).mean() for place in range(len(law.weights))]
    assert np.allclose(law.p_greater, shares)
    assert law.least_p == law.p_greater.min()
    assert np.isclose(law.mean, every.mean())
    assert np.isclose(law.variance, every.var())


@pytest.mark.parametrize("table", [(7, 3, 13, 127), (2, 5, 9, 4), (1, 1, 1, 1), (40, 60, 30, 90)])
def test_one_stratum_is_fishers_test(table):
    both, first_alone, second_alone, _ = table
    law = joint([(sum(table), both + first_alone, both + second_alone)])
    square = np.array(table).reshape(2, 2)
    assert np.isclose(law.p_greater[both - law.first], stats.fisher_exact(square, "greater").pvalue)
    estimate, low, high = law.odds_ratios(np.array([both]))
    expected = odds_ratio(square)
    assert np.isclose(estimate[0], expected.statistic, rtol=1e-6)
    assert np.allclose((low[0], high[0]), expected.confidence_interval(0.95), rtol=1e-6)


def test_ends_of_the_range_have_odds_ratios_of_zero_and_infinity():
    law = joint([(20, 5, 5)])
    estimate, low, high = law.odds_ratios(np.array([0, 5]))
    assert (estimate[0], low[0], estimate[1], high[1]) == (0, 0, np.inf, np.inf)
    expected = [odds_ratio([[0, 5], [5, 10]]), odds_ratio([[5, 0], [0, 15]])]
    intervals = [one.confidence_interval(0.95) for one in expected]
    assert np.isclose(high[0], intervals[0].high, rtol=1e-6)
    assert np.isclose(low[1], intervals[1].low, rtol=1e-6)


STRATA = [np.array([[30, 20], [25, 60]]), np.array([[12, 22], [10, 44]]), np.array([[9, 1], [40, 30]])]


def test_many_units_have_the_chi_square_of_cochran_mantel_and_haenszel():
    margins = [(table.sum(), table[0].sum(), table[:, 0].sum()) for table in STRATA]
    both = sum(table[0, 0] for table in STRATA)
    expected = StratifiedTable(STRATA)
    normal = joint(margins, most_exact=10)
    assert not normal.exact
    two_sided = 2 * normal.p_greater[both - normal.first]
    assert np.isclose(two_sided, expected.test_null_odds(correction=True).pvalue)
    exact = joint(margins)
    assert exact.exact
    assert np.isclose(exact.p_greater[both - exact.first], two_sided / 2, rtol=0.2)
    estimate, low, high = exact.odds_ratios(np.array([both]))
    assert np.isclose(estimate[0], expected.oddsratio_pooled, rtol=0.05)
    assert np.allclose((low[0], high[0]), expected.oddsratio_pooled_confint(), rtol=0.1)


def test_strata_without_a_contrast_change_nothing():
    alone, more = joint([(12, 5, 4)]), joint([(12, 5, 4), (6, 6, 2), (3, 1, 0), (0, 0, 0)])
    assert more.first == alone.first + 2
    assert np.allclose(more.p_greater, alone.p_greater)
    assert joint([(6, 6, 2)]).least_p == 1


def test_discrete_rates_with_all_p_possible_are_those_of_benjamini_and_hochberg():
    rng = np.random.default_rng(1)
    grid = np.arange(1, 1001) / 1000
    p = rng.choice(grid, 40) ** 3
    p = grid[np.searchsorted(grid, p)]
    assert np.allclose(discrete_fdr(p, [(grid, 40)]), benjamini_hochberg(p))


def test_discrete_rates_are_expected_over_observed_numbers():
    laws = [(np.array([1, 0.2, 0.01]), 2), (np.array([0.3, 1]), 10)]
    rates = discrete_fdr(np.array([0.2, 0.01, 0.3]), laws)
    assert np.allclose(rates, [2 * 0.2 / 2, 2 * 0.01 / 1, 1])
    assert discrete_fdr(np.empty(0), laws).shape == (0,)


def test_discrete_rates_hold_without_any_effect():
    rng = np.random.default_rng(2)
    law = joint([(30, 8, 6)])
    false = 0
    for _ in range(2000):
        numbers = law.first + rng.choice(len(law.weights), 50, p=law.weights)
        false += (discrete_fdr(law.p_greater[numbers], [(law.p_greater, 50)]) <= 0.05).any()
    assert false / 2000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)
    assert false > 0
