"""Measures of the comparison with peers, against scikit-learn and plain loops."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from benchmarks.common.peer_measures import MEASURES, Calls, Ranking, bootstrap, interval

PREVALENCE = 0.25


def made(seed=0, n=300, b=500, levels=40) -> Calls:
    """Return calls with many equal scores; every tenth query has no call."""
    rng = np.random.default_rng(seed)
    score = rng.integers(levels, size=n).astype(float)
    right = rng.random(n) < score / levels
    score[::10], right[::10] = -np.inf, False
    background = rng.integers(levels, size=b) * 0.7
    background[:20] = -np.inf
    return Calls(score, right, rng.random(n) < 0.6, rng.integers(12, size=n), background)


def plain(calls: Calls, weight: np.ndarray, reachable_only: bool):
    """Return precision and recall at each threshold, one after the other."""
    queries = PREVALENCE * weight / weight.sum()
    other = (1 - PREVALENCE) / len(calls.background)
    counted = calls.reachable if reachable_only else np.ones(len(weight), bool)
    finite = np.concatenate([calls.score, calls.background])
    for threshold in np.unique(finite[np.isfinite(finite)])[::-1]:
        passing = calls.score >= threshold
        right = queries[passing & calls.right & counted].sum()
        ignored = queries[passing & calls.right & ~counted].sum()
        n_called = queries[passing].sum() - ignored + other * (calls.background >= threshold).sum()
        yield (right / n_called if n_called else 0), right / queries[counted].sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_average_precision_is_that_of_scikit_learn(weighted):
    calls = made()
    weight = np.random.default_rng(1).integers(4, size=len(calls.score)) if weighted else np.ones(300)
    found = Ranking(calls, PREVALENCE).measure(weight if weighted else None)
    shares = np.concatenate(
        [PREVALENCE * weight / weight.sum(), np.full(500, (1 - PREVALENCE) / len(calls.background))]
    )
    scores = np.concatenate([calls.score, calls.background])
    right = np.concatenate([calls.right, np.zeros(500, bool)])
    reachable = np.concatenate([calls.reachable, np.ones(500, bool)])
    labelled = np.arange(800) < 300
    for name, used, positive in (
        ("ap", ~(right & ~reachable), labelled & reachable),
        ("ap_all", np.ones(800, bool), labelled),
    ):
        used &= np.isfinite(scores)
        precision = average_precision_score(right[used], scores[used], sample_weight=shares[used])
        # scikit-learn's positives are the right calls, ours are all queries that could be called right
        expected = precision * shares[used & right].sum() / shares[positive].sum()
        assert found[name] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_recall_at_a_false_discovery_rate_is_that_of_plain_loops(seed):
    calls = made(seed)
    weight = np.random.default_rng(seed).integers(1, 4, size=len(calls.score))
    found = Ranking(calls, PREVALENCE).measure(weight)
    points = list(plain(calls, weight, reachable_only=True))
    for rate in (0.05, 0.1, 0.2):
        expected = max((recall for precision, recall in points if precision >= 1 - rate), default=0)
        assert found[f"recall_{100 * rate:.0f}"] == pytest.approx(expected, abs=1e-12)
    average = sum(
        (recall - before) * precision
        for (precision, recall), (_, before) in zip(points, [(0, 0), *points], strict=False)
    )
    assert found["ap"] == pytest.approx(average, abs=1e-12)


def test_rates_by_hand():
    """Four queries are half of the mixture and four background receptors the other half."""
    score = np.array([4.0, 3.0, 1.0, -np.inf])
    right = np.array([True, True, False, False])
    calls = Calls(score, right, np.array([True, True, True, False]), np.arange(4), np.array([2.0, 0, 0, 0]))
    found = Ranking(calls, 0.5).measure()
    assert found == pytest.approx(
        {
            "ap": 2 / 3,
            "ap_all": 0.5,
            "recall_5": 2 / 3,
            "recall_10": 2 / 3,
            "recall_20": 2 / 3,
            "top_1": 2 / 3,
        }
    )
    late = Calls(score, right, calls.reachable, calls.study, np.array([5.0, 0, 0, 0]))
    assert Ranking(late, 0.5).measure()["ap"] == pytest.approx((1 / 2 + 2 / 3) / 3)
    assert Ranking(late, 0.5).measure()["recall_20"] == 0


def test_right_calls_out_of_reach_count_among_all_alone():
    score, right = np.array([2.0, 1.0]), np.array([True, True])
    calls = Calls(score, right, np.array([False, True]), np.arange(2), np.array([0.0]))
    found = Ranking(calls, 0.5).measure()
    assert (found["ap"], found["ap_all"], found["top_1"]) == (1, 1, 1)
    alone = Calls(score, np.array([True, False]), calls.reachable, calls.study, calls.background)
    found = Ranking(alone, 0.5).measure()
    assert (found["ap"], found["ap_all"], found["top_1"]) == (0, 0.5, 0)


def test_bootstrap_draws_whole_studies():
    """One study is called right, the other wrong: top-1 is the share of draws of the first."""
    study = np.repeat([3, 8], [30, 10])
    calls = Calls(np.ones(40), study == 3, np.ones(40, bool), study, np.zeros(5))
    top_1 = bootstrap(calls, 400)[:, MEASURES.index("top_1")]
    values, counts = np.unique(top_1.round(9), return_counts=True)
    np.testing.assert_allclose(values, [0, 0.75, 1])  # the second twice, each once, the first twice
    np.testing.assert_allclose(counts / 400, [0.25, 0.5, 0.25], atol=0.1)
    np.testing.assert_array_equal(bootstrap(calls, 20), bootstrap(calls, 20))
    low, high = interval(bootstrap(calls, 400))
    assert (low[-1], high[-1]) == pytest.approx((0, 1))


def test_bootstrap_of_one_study_has_no_width():
    calls = made()
    one = Calls(calls.score, calls.right, calls.reachable, np.zeros(300, int), calls.background)
    drawn = bootstrap(one, 5)
    np.testing.assert_allclose(drawn, [list(Ranking(one).measure().values())] * 5)


def test_bootstrap_is_as_wide_as_studies_differ():
    """The standard error of the mean of 50 studies of equal size."""
    study = np.repeat(np.arange(50), 20)
    rates = np.random.default_rng(0).random(50)
    right = np.concatenate([np.arange(20) < round(20 * rate) for rate in rates])
    calls = Calls(np.ones(1000), right, np.ones(1000, bool), study, np.zeros(5))
    drawn = bootstrap(calls, 1000)[:, MEASURES.index("top_1")]
    expected = (np.round(20 * rates) / 20).std() / np.sqrt(50)
    assert drawn.std() == pytest.approx(expected, rel=0.1)


def test_pooled_calls_keep_their_studies():
    parts = [made(seed) for seed in (0, 1)]
    both = Calls.pooled(parts)
    np.testing.assert_array_equal(both.score[300:], parts[1].score)
    assert (len(both.right), len(both.background)) == (600, 1000)
