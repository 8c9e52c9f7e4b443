"""Scores, calibration and validation of annotation, against counts and scikit-learn."""

from airrvec.annotation import calibrate, evidence, reference_set, scorer
from airrvec.core import schema
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import labelled_cells
from scipy import sparse
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

GROUP = {"species": "homosapiens", "chains": "paired"}


def reference_of(epitopes, studies, chains="paired"):
    receptors = synthesise(len(epitopes), seed=5)
    cells = labelled_cells(receptors, epitopes, studies)
    found = reference_set.build_reference_set(cells, receptors, chains=chains, species="homosapiens")
    place = {name: row for row, name in enumerate(found.receptors["receptor_id"].to_pylist())}
    return found, [place[name] for name in receptors["receptor_id"].to_pylist()]


def test_score_is_the_log_share_of_the_epitope_in_the_density():
    reference, rows = reference_of(["a", "a", "b"], ["s", "t", "u"])
    distances = np.array([[0.1, 0.2, 0.3]], np.float32)
    epitope, score = evidence.score_neighbours(
        distances, np.array([rows]), np.array([[0.4]]), reference, min_references=1
    ).best()
    of_a = np.exp(-0.1 / 0.05) + np.exp(-0.2 / 0.05)
    everything = of_a + np.exp(-0.3 / 0.05) + np.exp(-0.4 / 0.05) + np.exp(-16)
    assert reference.epitopes["epitope"][epitope[0]] == "a"
    assert score[0] == pytest.approx(np.log(of_a / everything), rel=1e-5)


def test_an_epitope_with_too_few_references_is_no_candidate_but_counts_against_others():
    reference, rows = reference_of(["a", "b", "b"], ["s", "t", "u"])
    distances = np.array([[0.1, 0.2, 0.3]], np.float32)
    none = np.full((1, 1), np.inf)
    found = evidence.score_neighbours(distances, np.array([rows]), none, reference, min_references=2)
    epitope, score = found.best()
    of_b = np.exp(-4) + np.exp(-6)
    assert reference.epitopes["epitope"][epitope[0]] == "b"
    assert score[0] == pytest.approx(np.log(of_b / (of_b + np.exp(-2) + np.exp(-16))), rel=1e-5)


def test_a_receptor_far_from_everything_scores_low_and_one_without_vector_not_at_all():
    reference, rows = reference_of(["a", "a"], ["s", "t"])
    distances = np.array([[1.5, 1.6], [np.inf, np.inf]], np.float32)
    _, score = evidence.score_neighbours(
        distances, np.array([rows, [-1, -1]]), np.full((2, 1), 1.5), reference, min_references=1
    ).best()
    assert score[0] < -10
    assert np.isnan(score[1])


def test_receptors_that_chains_cannot_tell_apart_are_one_reference():
    receptors = synthesise(2, seed=1)
    beta = [schema.field("TRB", name) for name in schema.CHAIN_FIELDS]
    frame = receptors.to_pandas()
    frame.loc[1, beta] = frame.loc[0, beta]
    receptors = pa.Table.from_pandas(frame, schema.RECEPTORS, preserve_index=False)
    cells = labelled_cells(receptors, ["a", "b"], ["s", "t"])
    pairs, betas = (
        reference_set.build_reference_set(cells, receptors, chains=chains, species="homosapiens")
        for chains in ("paired", "beta")
    )
    assert len(pairs) == 2
    assert len(betas) == 1
    assert betas.labels.toarray().tolist() == [[1, 1]]
    assert betas.receptors["tra_junction_aa"].null_count == 1


def test_no_study_is_in_two_folds_and_queries_never_meet_their_study():
    studies = [f"study {number % 12}" for number in range(120)]
    reference, _ = reference_of(["a", "b"] * 60, studies)
    folds, by_study = calibrate.assign_folds(reference, seed=1)
    assert by_study
    of_study = reference.studies.toarray().T @ folds
    assert ((of_study > 0).sum(axis=1) == 1).all()
    assert folds.sum(axis=0).tolist() == [30, 30, 20, 20, 20]


def test_cross_validation_of_one_study_is_at_random_and_says_so():
    reference, _ = reference_of(["a", "b"] * 10, ["only"] * 20)
    folds, by_study = calibrate.assign_folds(reference, seed=1)
    assert not by_study
    assert folds.sum(axis=0).tolist() == [4] * 5


def two_groups(rng, n, b, prevalence):
    """Scores of labelled receptors of which 9 in 10 are right, background, and a sample with its truth."""

    def labelled(n):
        return rng.normal(2, 1, n), rng.random(n) < 0.9

    n_binders = int(prevalence * 40_000)
    scores, right = labelled(n_binders)
    sample = np.concatenate([scores, rng.normal(0, 1, 40_000 - n_binders)])
    truth = np.concatenate([right, np.zeros(40_000 - n_binders, bool)])
    return (*labelled(n), rng.normal(0, 1, b)), sample, truth


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_wrong_labels_cost_calls_and_not_truth(share):
    """Each wrong label counts as a wrong call: claimed rates rise, and observed ones stay below."""
    rng = np.random.default_rng(4)
    (scores, right, background), sample, truth = two_groups(rng, 5000, 50_000, 0.1)
    true, mixed = (
        scorer.Calibration(scores, right & (rng.random(len(right)) >= wrong), background)
        for wrong in (0, share)
    )
    rates, expected = (fitted.fdr(sample, fitted.prevalence(sample)) for fitted in (mixed, true))
    # Nothing is called at a claim up to their share, but for a few of the highest scores.
    assert (rates <= 0.9 * share).sum() < 40
    for claimed in (0.3, 0.5, 0.7):
        called = rates <= claimed
        assert called.sum() <= (expected <= claimed).sum()
        if claimed > share + 0.15:
            assert called.sum() > 50
        assert (~truth[called]).sum() <= claimed * called.sum()


@pytest.mark.parametrize("prevalence", [0.05, 0.1, 0.4])
def test_rates_and_probabilities_are_those_of_a_known_mixture(prevalence):
    groups, sample, truth = two_groups(np.random.default_rng(3), 5000, 50_000, prevalence)
    fitted = scorer.Calibration(*groups)
    estimated = fitted.prevalence(sample)
    assert estimated == pytest.approx(prevalence, rel=0.15)
    rates = fitted.fdr(sample, estimated)
    for claimed in (0.2, 0.3, 0.5):
        called = rates <= claimed
        assert called.sum() > 50
        assert (~truth[called]).mean() == pytest.approx(claimed, rel=0.25)
    probability = fitted.probability(sample, estimated)
    for low, high in ((0.1, 0.3), (0.3, 0.6), (0.6, 0.9)):
        inside = (probability >= low) & (probability < high)
        assert truth[inside].mean() == pytest.approx(probability[inside].mean(), abs=0.06)


def test_background_alone_has_almost_no_calls():
    rng = np.random.default_rng(4)
    groups, _, _ = two_groups(rng, 2000, 50_000, 0.1)
    fitted = scorer.Calibration(*groups)
    sample = rng.normal(0, 1, 20_000)
    prevalence = fitted.prevalence(sample)
    assert prevalence < 0.01
    assert (fitted.fdr(sample, prevalence) <= 0.2).sum() <= 5


def test_precision_and_recall_are_counted():
    scores = np.array([4.0, 3, 2, 1])
    right, reachable = np.array([1, 0, 1, 0], bool), np.array([1, 1, 1, 0], bool)
    curve = calibrate.precision_recall(scores, right, reachable, np.array([2.5, 0, 0, 0]), 0.5)
    assert curve["score"].tolist() == [4, 3, 2, 1]
    assert curve["recall"].tolist() == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3])
    assert curve["precision"].tolist() == pytest.approx([1, 1 / 2, 2 / 4, 2 / 5])


def test_the_epitopes_have_their_species_and_chains():
    reference, _ = reference_of(["a", "a", "b"], ["s", "t", "u"])
    queries = pd.DataFrame(
        {
            "row": [0, 1, 2],
            "fold": [0, 1, 2],
            "score": [3.0, 2, 1],
            "epitope": 0,
            "right": [True] * 3,
            "reachable": [True] * 3,
        }
    )
    excluded = reference.epitopes.assign(epitope=["a", "c"], n_excluded=[0, 4])
    table = calibrate.epitope_table(
        reference, queries, np.zeros(5), GROUP, fdr=0.1, min_references=2, excluded=excluded
    )
    assert table.schema.equals(schema.ANNOTATION_EPITOPES)
    assert table["epitope"].to_pylist() == ["a", "b", "c"]
    for name, value in GROUP.items():
        assert table[name].to_pylist() == [value] * 3


def test_brier_score_is_scikit_learns():
    rng = np.random.default_rng(5)
    probability, truth, weight = rng.random(50), rng.random(50) < 0.5, rng.random(50)
    assert scorer.brier_score(probability, truth, weight) == pytest.approx(
        brier_score_loss(truth, probability, sample_weight=weight)
    )


@pytest.mark.parametrize("folds", [[0, 1, 4], [2, 4], [0, 1, 2, 3, 4]])
def test_reliability_is_whole_where_folds_have_no_queries(folds):
    rng = np.random.default_rng(8)
    (scores, right, background), _, _ = two_groups(rng, 300, 2000, 0.1)
    fold = rng.choice(folds, len(scores))
    of_labelled, of_background = scorer.cross_validated_probabilities(scores, right, fold, background, 0.1)
    assert np.isfinite(of_labelled).all()
    assert np.isfinite(of_background).all()
    queries = pd.DataFrame({"score": scores, "right": right, "fold": fold})
    table, score = calibrate.reliability_table(queries, background, GROUP)
    truth = np.concatenate([right, np.zeros(len(background), bool)])
    weight = np.where(np.arange(len(truth)) < len(right), 0.1 / len(right), 0.9 / len(background))
    both = np.concatenate([of_labelled, of_background])
    assert score == pytest.approx(brier_score_loss(truth, both, sample_weight=weight))
    assert sum(table["n_background"].to_pylist()) == len(background)
    assert sum(table["share"].to_pylist()) == pytest.approx(1)


def test_queries_of_one_fold_have_no_reliability():
    queries = pd.DataFrame({"score": [0.1, 0.2], "right": [True, False], "fold": [3, 3]})
    table, score = calibrate.reliability_table(queries, np.zeros(10), GROUP)
    assert (len(table), score) == (0, None)


def test_words_of_rows_are_joined():
    matrix = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 0]]))
    assert reference_set.join_words(matrix, ["a", "b", "c"]).tolist() == ["a;c", ""]


@pytest.mark.parametrize("n", [1, 2, 5, 200])
@pytest.mark.parametrize("digits", [0, 1, 6])
def test_the_isotonic_regression_is_that_of_scikit_learn(n, digits):
    rng = np.random.default_rng(n)
    scores = np.round(rng.normal(size=n), digits)  # with ties
    values, weights = rng.random(n) < 1 / (1 + np.exp(-2 * scores)), rng.random(n) + 0.01
    new = np.concatenate([scores, 3 * rng.normal(size=50)])
    for given in (None, weights):
        oracle = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
        expected = oracle.fit(scores, values.astype(float), sample_weight=given).predict(new)
        np.testing.assert_allclose(scorer._isotonic(scores, values, given)(new), expected, atol=1e-12)
