"""Scores of the benchmark, against plain loops and scikit-learn."""

from airrvec.core import schema
from airrvec.encoders.combined import Sum
from airrvec.encoders.sceptr import Sceptr
from airrvec.evaluation import fewshot, rules, scoring
from airrvec.evaluation import scoring as benchmark_distances
from airrvec.stats import metrics

import numpy as np
import pandas as pd
import pytest
from receptors_on_a_line import Line, labelled, plan
from scipy.spatial.distance import cdist, pdist
from sklearn.metrics import average_precision_score, roc_auc_score


class Place:
    """The same place as a vector of one number, with a kernel width of its own."""

    kernel = 0.05

    def embed(self, receptors):
        return np.array(receptors["tra_v_call"].to_pylist(), np.float32)[:, None]


def plain_rules(x, references, others, kernel=0.05):
    """Scores of all receptors by each rule, in float64."""
    to_epitope = [[abs(x[i] - x[r]) for r in references] for i in range(len(x))]
    to_all = [[abs(x[i] - x[r]) for r in [*references, *others]] for i in range(len(x))]
    soft, soft_all = (
        [-kernel * np.logaddexp.reduce(-np.array(row) / kernel) for row in rows]
        for rows in (to_epitope, to_all)
    )
    return {
        "nearest_neighbour": [min(row) for row in to_epitope],
        "average_distance": [sum(row) / len(row) for row in to_epitope],
        "mean_of_nearest": [sum(sorted(row)[:5]) / len(row[:5]) for row in to_epitope],
        "soft_nearest_neighbour": soft,
        "contrast": [one - all for one, all in zip(soft, soft_all, strict=True)],
    }


@pytest.mark.parametrize("kept_bytes", [2**30, 30 * 60 * 8, 0])
@pytest.mark.parametrize("encoder", [Line(), Place()])
def test_scores_are_those_of_a_plain_loop(monkeypatch, kept_bytes, encoder):
    # All distances kept, those of the first epitope alone, none.
    monkeypatch.setattr(benchmark_distances, "KEPT_BYTES", kept_bytes)
    for module in (benchmark_distances, scoring):
        monkeypatch.setattr(module, "BATCH_BYTES", 60 * 4 * 10)
    table = labelled()
    splits, _ = plan(table)
    names = list(rules.DISTANCE_RULES)
    found = scoring.score(encoder, "line", table, splits, rules=tuple(names))
    x = np.array(table.receptors["tra_v_call"].to_pylist(), float)
    expected = []
    for split in splits:
        (other,) = [s.references for s in splits if s.k == split.k and s.epitope != split.epitope]
        for rule in names:
            for number, references in enumerate(split.references):
                others = other[number % len(other)]
                scores = plain_rules(x, references, others)[rule]
                seen = {*references, *(others if rule == "contrast" else ())}
                tests = [i for i in range(len(x)) if i not in seen]
                binds = [i in table.epitopes[split.epitope] for i in tests]
                ranked = [-np.float32(scores[i]).round(3) for i in tests]
                values = (
                    roc_auc_score(binds, ranked),
                    roc_auc_score(binds, ranked, max_fpr=0.1),
                    average_precision_score(binds, ranked),
                )
                setting = ("line", rule, "paired", "all", "none", split.epitope, split.k, number)
                expected.append((*setting, *values, sum(binds), len(binds) - sum(binds)))
    measured = found.auroc.to_pandas()
    wanted = pd.DataFrame(expected, columns=schema.AUROC.names)
    exact = [name for name in schema.AUROC.names if name not in schema.METRICS]
    pd.testing.assert_frame_equal(measured[exact], wanted[exact], check_dtype=False)
    # The kernel's float32 may part what is tied to the last digit, in soft rules alone.
    paper = measured["rule"].isin(names[:3])
    for name in schema.METRICS:
        np.testing.assert_allclose(measured.loc[paper, name], wanted.loc[paper, name], atol=1e-12)
        np.testing.assert_allclose(measured[name], wanted[name], atol=0.02)
    curves = found.roc.to_pandas()
    assert set(curves["k"]) == {3}
    assert len(curves) == len(names) * 2 * len(metrics.FPR_GRID)
    assert len(found.not_evaluated) == 0


class OnCircle:
    """Unit vectors, so that distances are small and the soft rules' exponentials are shared."""

    def embed(self, receptors):
        angles = 0.3 * np.array(receptors["tra_v_call"].to_pylist(), float) + 0.01 * np.arange(len(receptors))
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


class WithKernel(OnCircle):
    kernel = 0.05


@pytest.mark.parametrize("encoder", [OnCircle(), WithKernel()])
def test_shared_exponentials_change_no_rule(encoder):
    table = labelled()
    shown = benchmark_distances.Distances(encoder, table.receptors, None)
    # Without a kernel of the encoder, 0.45 standard deviations of the distances between two receptors.
    kernel = getattr(encoder, "kernel", 0.45 * pdist(encoder.embed(table.receptors)).std())
    shown.keep(np.arange(40))
    references, others = np.arange(12).reshape(4, 3), np.arange(12, 36).reshape(4, 6)
    to_epitope, to_others = (shown.distances(rows).astype(np.float64) for rows in (references, others))
    to_all = np.concatenate([to_epitope, to_others], axis=2)
    assert shown.density(references) is not None
    soft = rules.soft_nearest_neighbour(to_epitope, kernel=kernel)
    contrast = rules.contrast(to_epitope, to_all, kernel=kernel)
    # All distances are kept; only the epitope's, as in a large table; none.
    for kept in (40, 12, 0):
        shown.keep(np.arange(kept))
        for rule, expected in (("soft_nearest_neighbour", soft), ("contrast", contrast)):
            found = scoring._rule_scores(rule, references, others, shown)
            np.testing.assert_allclose(found, expected, atol=1e-6)
    shown.keep(np.arange(40))
    # A row whose distances are not kept; distances so large that exponentials would vanish.
    assert shown.density(references + 30) is None
    far = benchmark_distances.Distances(Place(), table.receptors, None)
    far.keep(np.arange(40))
    assert far.density(references) is None


def test_a_classifier_is_scikit_learns_and_needs_vectors():
    from sklearn.svm import SVC

    table = labelled()
    splits, _ = plan(table, ks=(3,))
    negatives = labelled().receptors.slice(0, 20)
    found = scoring.score(Place(), "place", table, splits, rules=("linear_svc",), background=negatives)
    x = Place().embed(table.receptors)
    for split in splits:
        rows = split.references[0]
        model = SVC(kernel="linear", class_weight="balanced")
        model.fit(np.concatenate([x[rows], Place().embed(negatives)]), np.arange(23) < 3)
        tests = np.setdiff1d(np.arange(60), rows)
        value = roc_auc_score(
            np.isin(tests, table.epitopes[split.epitope]), model.decision_function(x[tests])
        )
        row = found.auroc.to_pandas().query("epitope == @split.epitope and split == 0")
        assert row["auroc"].item() == pytest.approx(value)
    found = scoring.score(Line(), "line", table, splits, rules=("linear_svc", "nearest_neighbour"))
    assert set(found.auroc["rule"].to_pylist()) == {"nearest_neighbour"}
    (row,) = found.not_evaluated.to_pylist()
    assert (row["encoder"], row["rule"], row["epitope"]) == ("line", "linear_svc", None)
    assert row["reason"] == "the encoder gives distances, no vectors"


def test_one_epitope_alone_has_nothing_to_be_contrasted_with():
    table = labelled()
    alone = fewshot.LabelledReceptors(table.receptors, {"A": table.epitopes["A"]}, {})
    found = scoring.score(Line(), "line", alone, plan(alone)[0], rules=("contrast", "nearest_neighbour"))
    assert set(found.auroc["rule"].to_pylist()) == {"nearest_neighbour"}
    assert [(row["rule"], row["k"]) for row in found.not_evaluated.to_pylist()] == [
        ("contrast", 1),
        ("contrast", 3),
    ]


def test_ties_everywhere_are_chance():
    class Same:
        def distances(self, queries, references):
            return np.zeros((len(queries), len(references)), np.int16)

    table = labelled()
    found = scoring.score(
        Same(), "same", table, plan(table)[0], rules=tuple(rules.DISTANCE_RULES)
    ).auroc.to_pandas()
    np.testing.assert_allclose(found[["auroc", "auroc_01"]], 0.5, atol=1e-12)
    share = found["n_positive"] / (found["n_positive"] + found["n_negative"])
    np.testing.assert_allclose(found["average_precision"], share)


@pytest.mark.parametrize(("sample", "batch_bytes"), [(1000, 2**24), (1000, 8 * 60 * 7), (20, 2**24)])
def test_a_kernel_follows_the_spread_of_the_distances(monkeypatch, sample, batch_bytes):
    monkeypatch.setattr(benchmark_distances, "SAMPLE", sample)
    monkeypatch.setattr(benchmark_distances, "BATCH_BYTES", batch_bytes)
    table = labelled()
    points = OnCircle().embed(table.receptors)[np.linspace(0, 59, min(sample, 60)).astype(int)]
    found = benchmark_distances.Distances(OnCircle(), table.receptors, None).kernel
    assert found == pytest.approx(0.45 * pdist(points).std(), rel=1e-6)


def test_the_rules_with_a_kernel_do_not_depend_on_the_unit_of_the_distances():
    class Times43(OnCircle):
        def distance_rows(self, receptors):
            x = self.embed(receptors).astype(float)
            return lambda rows: 43 * cdist(x[rows], x)

    table = labelled()
    splits, _ = plan(table)
    names = ("soft_nearest_neighbour", "contrast")
    one, other = (
        scoring.score(encoder, "e", table, splits, rules=names).auroc.to_pandas()["auroc"]
        for encoder in (OnCircle(), Times43())
    )
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_equal_distances_and_sums_have_a_kernel():
    class Same:
        def distances(self, queries, references):
            return np.ones((len(queries), len(references)))

    assert benchmark_distances.Distances(Same(), labelled().receptors, None).kernel == rules.KERNEL
    assert Sum([WithKernel(), OnCircle()]).kernel == 0.05
    assert Sum([OnCircle(), WithKernel()]).kernel is None
    assert Sceptr.kernel == rules.KERNEL
