"""Gains of one model over another: AUROCs against scikit-learn, resampled studies against their sizes."""

from dataclasses import replace

from airrvec.evaluation.heldout import gains, specificity

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import roc_auc_score
from test_specificity import SPLIT, Line

TESTS = gains.tests(SPLIT)
WEIGHTS = gains.resample(TESTS, 400)
BEFORE = specificity.rule_scores(Line(), SPLIT, ("contrast",))["contrast"]
# Each epitope's positives first.
BEST = np.ones_like(BEFORE)
for row, positives in zip(BEST, TESTS.positives, strict=True):
    row[positives] = 0


def test_a_cross_reactive_receptor_is_no_negative_of_an_epitope_that_it_binds():
    test = SPLIT.rows("test")
    for epitope, positives, negatives in zip(TESTS.epitopes, TESTS.positives, TESTS.negatives, strict=True):
        assert set(test[positives]) == set(SPLIT.test[epitope])
        assert not set(test[negatives]) & set(SPLIT.labelled.epitopes[epitope])


def test_aurocs_are_those_of_scikit_learn():
    for number, value in enumerate(gains.aurocs(BEFORE, TESTS)):
        rows = np.concatenate([TESTS.positives[number], TESTS.negatives[number]])
        positive = np.isin(rows, TESTS.positives[number])
        assert value == pytest.approx(roc_auc_score(positive, -BEFORE[number, rows]))


def test_equal_models_gain_nothing():
    row = gains.gain([BEFORE], [BEFORE], TESTS, WEIGHTS).row()
    assert (row["difference"], row["low"], row["high"], row["better"], row["epitopes"]) == (0, 0, 0, 0, 3)


def test_a_better_model_gains_what_is_missing_to_1():
    gain = gains.gain([BEFORE], [BEST], TESTS, WEIGHTS)
    row = gain.row()
    assert row["after"] == 1
    assert row["difference"] == pytest.approx(1 - gains.aurocs(BEFORE, TESTS).mean())
    assert 0 < row["low"] < row["difference"] < row["high"] < 1
    assert gains.gain([BEST], [BEFORE], TESTS, WEIGHTS).row()["low"] == pytest.approx(-row["high"])


def test_whole_studies_are_drawn_and_then_their_receptors():
    assert TESTS.names == ["s0", "s1"]
    sizes = np.bincount(TESTS.studies)
    drawn = np.stack([WEIGHTS[:, TESTS.studies == study].sum(axis=1) for study in (0, 1)]) / sizes[:, None]
    assert set(drawn.sum(axis=0)) == {2}  # as many studies as there are, each with all its receptors
    assert {*drawn[0]} == {0, 1, 2}
    assert (drawn[0] == 0).mean() == pytest.approx(0.25, abs=0.07)


def test_a_receptor_without_a_study_is_a_study_of_its_own():
    sources = SPLIT.labelled.sources
    nothing = pa.nulls(len(sources), pa.string())
    unnamed = sources.set_column(sources.column_names.index("reference_id"), "reference_id", nothing)
    split = replace(SPLIT, labelled=replace(SPLIT.labelled, sources=unnamed))
    tests = gains.tests(split)
    assert len(tests.names) == len(tests.studies) == len(split.rows("test"))
    assert gains.test_studies(split) == set()
