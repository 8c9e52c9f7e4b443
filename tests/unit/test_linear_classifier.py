"""The linear classifier beside scikit-learn's ridge regression, and its features by hand."""

from airrvec.annotation import linear_classifier
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pytest
from inputs import variants
from scipy import sparse
from sklearn.linear_model import Ridge

_BETA = ("trb_v_call", "trb_j_call", "trb_junction_aa")


def beta(*rows: tuple) -> pa.Table:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return pa.table(dict(zip(_BETA, arrays, strict=True)))


def fit(chains: str, references: pa.Table, labels: sparse.csr_array, background: pa.Table):
    features = linear_classifier.Features.read(chains, references, background)
    return linear_classifier.fit(features, labels)


def labels_of(n: int) -> sparse.csr_array:
    return sparse.csr_array(np.eye(2, dtype=np.float32)[np.arange(n) % 2])


def test_features_of_a_chain():
    receptor = beta(("TRBV19*01", "TRBJ2-7*01", "CASSIRSSYEQYF"))
    genes = {"trb_v_call": pa.array(["TRBV1", "TRBV19"]), "trb_j_call": pa.array(["TRBJ2-7"])}
    letters = "ACDEFGHIKLMNPQRSTVWY"
    number = [[letters.index(letter) for letter in triplet] for triplet in ("SIR", "YEQ", "SYE", "AAA")]
    triplets = np.sort([(a * 20 + b) * 20 + c for a, b, c in number])
    features = linear_classifier._features(receptor, ("TRB",), genes, {"TRB": triplets}).toarray()[0]
    genes_and_length, ends, shares = np.split(features, [4, 4 + 320])
    np.testing.assert_allclose(genes_and_length, [0, 0.3, 0.3, (13 - 14) * 0.1])
    places = [divmod(int(place), 20) for place in np.flatnonzero(ends)]
    # Eleven residues within C and F: six from the left, five from the right.
    assert [(place, letters[residue]) for place, residue in places] == [
        *zip(range(6), "ASSIRS", strict=True),
        *zip(range(8, 13), "YQEYS", strict=True),
    ]
    known = dict(zip(triplets, shares, strict=True))
    values = [known[(a * 20 + b) * 20 + c] for a, b, c in number]
    assert values == [0.5, 0, 0.5, 0]  # YEQ ends within the last three residues


def test_scores_are_those_of_ridge_regression():
    known, background = variants(3, 60), synthesise(200, seed=5)
    labels = labels_of(60)
    fitted = fit("paired", known, labels, background)
    table = pa.concat_tables([known.select(background.column_names), background])
    features = fitted.reader.read(table).toarray()
    target = np.concatenate([labels.toarray(), np.zeros((200, 2))])
    weight = np.concatenate([np.ones(60), np.full(200, 60 / 200)])
    ridge = Ridge(alpha=linear_classifier.PENALTY * 120).fit(features, target, sample_weight=weight)
    expected = ridge.predict(features) - ridge.intercept_
    expected /= expected.std(axis=0)
    expected -= (weight[:, None] * expected).sum(axis=0) / 120
    np.testing.assert_allclose(fitted.score(table), expected, atol=1e-5)


def test_a_part_of_the_references_is_as_if_the_others_had_no_epitope_and_no_weight():
    known, background = variants(3, 60), synthesise(200, seed=5)
    rows = np.arange(0, 60, 3)
    whole = linear_classifier.Features.read("paired", known, background)
    part = linear_classifier.fit(whole.take(rows), labels_of(20))
    features = whole.reader.read(pa.concat_tables([known.take(pa.array(rows)), background]))
    weight = np.concatenate([np.ones(20), np.full(200, 20 / 200)])
    target = np.concatenate([labels_of(20).toarray(), np.zeros((200, 2))])
    ridge = Ridge(alpha=linear_classifier.PENALTY * 40).fit(features.toarray(), target, sample_weight=weight)
    expected = ridge.coef_.T / (features @ ridge.coef_.T).std(axis=0)
    np.testing.assert_allclose(part.weights, expected, atol=1e-5)


def test_it_tells_epitopes_apart_that_it_was_not_shown():
    receptors = variants(3, 120)
    known, held_out = receptors.slice(0, 80), receptors.slice(80)
    scores = fit("paired", known, labels_of(80), synthesise(200, seed=5)).score(held_out)
    assert (scores.argmax(axis=1) == np.arange(40) % 2).mean() == pytest.approx(1)


def test_what_cannot_be_read_has_no_features():
    known = beta(*[("TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"), ("TRBV2", None, "CASSF")] * 10)
    fitted = fit("beta", known, labels_of(20), known)
    strange = beta(("TRBV99", None, None), ("TRBV99", None, "C"))
    assert np.isfinite(fitted.score(strange)).all()
    none = fit("beta", known, sparse.csr_array((20, 0)), known)
    assert none.score(strange).shape == (2, 0)


def test_no_background_and_no_queries():
    known = beta(*[("TRBV19", "TRBJ2-7", "CASSIRSSYEQYF"), ("TRBV2", None, "CASSF")] * 10)
    fitted = fit("beta", known, labels_of(20), known.slice(0, 0))
    scores = fitted.score(known)
    assert (scores.argmax(axis=1) == np.arange(20) % 2).all()
    assert fitted.score(known.slice(0, 0)).shape == (0, 2)
