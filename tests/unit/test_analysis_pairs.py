"""Pairs of receptors in the analyses: their choice, their distances, and what they share."""

from airrvec import encoders
from airrvec.analyses import material

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_material import Toy, labelled, of


@given(n=st.integers(0, 60), most=st.integers(1, 500))
@settings(max_examples=50)
def test_pairs_are_different_distinct_and_sorted(n, most):
    i, j = material.pairs(n, np.random.default_rng(0), most)
    assert (i < j).all()
    assert (j < n).all()
    codes = i * max(n, 1) + j
    assert (np.diff(codes) > 0).all()
    assert len(i) == n * (n - 1) // 2 or len(i) <= most


def test_distances_of_pairs_are_those_of_the_whole_matrix(monkeypatch):
    monkeypatch.setattr(material, "BLOCK", 7)
    receptors = labelled().receptors
    i, j = material.pairs(len(receptors), np.random.default_rng(0), 300)
    whole = encoders.load("tcrdist").distances(receptors, receptors)
    np.testing.assert_array_equal(material.tcrdist(receptors, i, j), whole[i, j])
    halves = [material.tcrdist(receptors, i, j, chain) for chain in ("alpha", "beta")]
    np.testing.assert_array_equal(sum(halves), whole[i, j])
    toy = Toy()
    vectors = toy.embed(receptors)
    expected = np.linalg.norm(vectors[i] - vectors[j], axis=1)
    np.testing.assert_allclose(material.pair_distances(toy, receptors, i, j), expected, rtol=1e-5)


def test_co_specific_pairs_share_an_epitope():
    chosen = labelled(20)
    i, j = np.triu_indices(20, 1)
    sets = [{name for name, rows in chosen.epitopes.items() if row in rows} for row in range(20)]
    expected = [bool(sets[a] & sets[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_array_equal(material.co_specific(chosen, i, j), expected)


def test_a_sample_keeps_the_labels_of_its_receptors():
    chosen = labelled()
    sample = of(chosen, n_receptors=25).sample
    assert len(sample.receptors) == 25
    of_all = {
        name: set(chosen.receptors["receptor_id"].to_numpy()[rows]) for name, rows in chosen.epitopes.items()
    }
    ids = sample.receptors["receptor_id"].to_numpy()
    for name, rows in sample.epitopes.items():
        assert set(ids[rows]) == of_all[name] & set(ids)
    assert sample.receptors.equals(of(chosen, n_receptors=25).sample.receptors)
    assert not sample.receptors.equals(of(chosen, n_receptors=25, seed=2).sample.receptors)


def test_auroc_is_taken_of_whole_receptors_and_all_tests():
    rows = [
        ("sceptr", "nearest_neighbour", "paired", "all", "x", "A", 5, 0.7),
        ("sceptr", "nearest_neighbour", "paired", "all", "x", "A", 1, 0.1),
        ("sceptr", "nearest_neighbour", "alpha", "all", "x", "A", 5, 0.2),
        ("sceptr", "nearest_neighbour", "paired", "below_90", "x", "A", 5, 0.3),
        ("sceptr", "nearest_neighbour", "paired", "all", "none", "A", 5, 0.4),
        ("sceptr", "average_distance", "paired", "all", "x", "A", 5, 0.5),
    ]
    columns = ["encoder", "rule", "chains", "test_set", "excluded", "epitope", "k", "auroc_mean"]
    found = material.nearest_neighbour_auroc(pd.DataFrame(rows, columns=columns), excluded="x")
    assert found.to_dict("records") == [{"encoder": "sceptr", "epitope": "A", "k": 5, "auroc": 0.7}]
