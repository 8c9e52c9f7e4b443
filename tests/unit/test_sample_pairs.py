"""Pairs of samples: against plain loops, and with and without permutations."""

from dataclasses import replace
from itertools import combinations

from airrvec.core import tables
from airrvec.repertoire import clustering, diversity, sample_comparison
from airrvec.repertoire.options import Group
from airrvec.repertoire.repertoires import Repertoires
from airrvec.repertoire.sample_comparison import Samples
from airrvec.report.sections import comparison
from airrvec.stats import significance

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist

N_SAMPLES, N_RECEPTORS, RADIUS = 6, 400, 0.9


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Samples:
    """Five samples that share receptors, some without vectors, and one that is too small for distances."""
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(N_RECEPTORS, 4)).astype(np.float32)
    vectors[::9] = np.nan
    chains = np.where(np.arange(N_RECEPTORS) % 7 == 0, "beta", "paired")
    frames = []
    for number in range(N_SAMPLES):
        # Of different places, so that the samples differ.
        rows = rng.choice(200, 12 if number == 5 else 90, replace=False) + 40 * number
        n = rng.integers(1, 9, len(rows))
        frames.append(pd.DataFrame({"sample_id": f"s{number}", "receptor": rows, "n": n}))
    ids = pa.chunked_array([pa.array([str(number) for number in range(N_RECEPTORS)])])
    embeddings = tmp_path_factory.mktemp("samples") / "vectors.parquet"
    tables.write(tables.embeddings_table(ids, vectors), embeddings)
    repertoires = Repertoires(
        pa.table({"clonotype_id": ids}),
        None,
        embeddings,
        np.where(np.isfinite(vectors).all(axis=1), np.arange(N_RECEPTORS), -1),
        chains,
        pd.concat(frames),
        pd.DataFrame(
            {"donor": (names := sorted({name for frame in frames for name in frame["sample_id"]}))}, names
        ),
        np.arange(N_RECEPTORS),
        pd.Series("cells", [f"s{number}" for number in range(N_SAMPLES)]),
    )
    rows = repertoires.rows("paired")
    neighbours = clustering.neighbourhood(vectors[rows], vectors[:0], RADIUS)
    group = Group("homosapiens", "paired", repertoires, rows, neighbours, 0)
    return Samples(group, 50, 99, 1)


@pytest.fixture(scope="module")
def pairs(samples) -> pd.DataFrame:
    return sample_comparison.pairs_table(samples).to_pandas()


@pytest.fixture
def untested(samples, monkeypatch) -> pd.DataFrame:
    monkeypatch.setattr(sample_comparison, "MOST_TESTED", 14)
    return sample_comparison.pairs_table(samples).to_pandas()


def test_every_pair_is_there(pairs):
    names = [f"s{number}" for number in range(N_SAMPLES)]
    assert list(zip(pairs["sample_1"], pairs["sample_2"], strict=True)) == list(combinations(names, 2))


def test_overlaps_are_those_of_two_samples(samples, pairs):
    counts = samples.counts
    for row in pairs.itertuples():
        both = pd.concat([counts[row.sample_1], counts[row.sample_2]], axis=1).fillna(0).to_numpy()
        assert row.n_shared == (both > 0).all(axis=1).sum()
        assert row.jaccard == pytest.approx(diversity.jaccard(*both.T))
        assert row.morisita_horn == pytest.approx(diversity.morisita_horn(*both.T))
        shares = (both / both.sum(axis=0))[(both > 0).all(axis=1)].sum(axis=0)
        assert row.frequency_overlap == pytest.approx(np.sqrt(shares.prod()))
    assert pairs["n_shared"].max() > 10


@pytest.mark.parametrize("block", [7, 20_000])
def test_shares_near_are_those_of_all_distances(samples, block, monkeypatch):
    monkeypatch.setattr(sample_comparison, "_RECEPTORS", block)
    vectors = [samples.compared.vectors[rows] for rows in samples.with_vectors.values()]
    expected = [
        [(cdist(queries, references).min(axis=1) <= RADIUS).mean() for references in vectors]
        for queries in vectors
    ]
    found = sample_comparison.shares_near(samples)
    np.testing.assert_allclose(found, expected)
    assert 0.1 < found[0, 4] < 1


def test_a_sample_without_vectors_has_no_share(samples):
    counts = samples.compared.repertoires.counts
    alone = counts[(counts["sample_id"] != "s2") | (counts["receptor"] % 9 == 0)]
    other = Samples(
        replace(samples.compared, repertoires=replace(samples.compared.repertoires, clones=alone))
    )
    table = sample_comparison.pairs_table(other).to_pandas()
    of_s2 = table[(table["sample_1"] == "s2") | (table["sample_2"] == "s2")]
    assert of_s2[["near_1_in_2", "near_2_in_1", "mmd", "frechet"]].isna().all(axis=None)
    assert table.drop(of_s2.index)["near_1_in_2"].notna().all()


def test_distances_without_permutations_are_those_with(pairs, untested):
    for name in ("frechet", "mmd"):
        np.testing.assert_allclose(untested[name], pairs[name], rtol=1e-5, atol=2e-7)
    same = [name for name in pairs if name not in ("frechet", "frechet_by_chance", "mmd", "mmd_p", "mmd_fdr")]
    pd.testing.assert_frame_equal(untested[same], pairs[same])
    assert untested[["frechet_by_chance", "mmd_p", "mmd_fdr"]].isna().all(axis=None)
    large = (pairs["sample_2"] != "s5").to_numpy()
    assert pairs.loc[large, ["frechet_by_chance", "mmd_p", "mmd_fdr"]].notna().all(axis=None)
    assert pairs.loc[~large, ["frechet", "mmd"]].isna().all(axis=None)
    assert set(pairs.loc[~large, "n_compared_1"]) == {0}


def test_the_report_says_that_no_pair_was_tested(pairs, untested):
    none = pd.DataFrame()
    tested, not_tested = (
        comparison.comparison_lines(comparison.Comparison({}, table, none, none, 0))[0]
        for table in (pairs, untested)
    )
    n_tested = pairs["mmd_fdr"].notna().sum()
    assert f" of {n_tested} tested pairs differ at a false discovery rate of 5 %" in tested
    assert not_tested.endswith("15 pairs, counted for each class of chains; no pair was tested")


@pytest.mark.parametrize("weights", ["clones", "cells"])
def test_vectors_and_kernels_are_weighted_means(samples, weights):
    weighted = replace(samples, n_receptors=1000, weights=weights)  # all receptors are drawn
    table = sample_comparison.vectors_table(weighted).to_pandas().set_index("sample_id")
    pairs = sample_comparison.pairs_table(weighted).to_pandas().set_index(["sample_1", "sample_2"])
    carried, vectors, shares = weighted.compared.repertoires.counts, {}, {}
    for name, rows in carried.groupby("sample_id"):
        place = np.searchsorted(weighted.compared.rows, rows["receptor"])
        known = np.isin(rows["receptor"], weighted.compared.rows)
        vectors[name] = weighted.compared.vectors[place[known]].astype(float)
        n = rows["n"].to_numpy(float)[known] if weights == "cells" else np.ones(known.sum())
        shares[name] = n / n.sum()
        mean = np.average(vectors[name], axis=0, weights=n)
        np.testing.assert_allclose(table.loc[name].filter(like="dim_").astype(float), mean, atol=1e-6)
    for first, second in (("s0", "s1"), ("s2", "s4")):
        kernel = np.exp(cdist(vectors[first], vectors[second]) ** 2 / (-2 * weighted.width**2))
        expected = shares[first] @ kernel @ shares[second]
        assert pairs.loc[(first, second), "kernel"] == pytest.approx(expected, rel=1e-5)
    kernel = np.exp(cdist(vectors["s0"], vectors["s0"]) ** 2 / (-2 * weighted.width**2))
    both = np.outer(shares["s0"], shares["s0"]) * (1 - np.eye(len(kernel)))
    assert table.loc["s0", "kernel"] == pytest.approx((both * kernel).sum() / both.sum(), rel=1e-5)
    unweighted = sample_comparison.pairs_table(replace(samples, n_receptors=1000)).to_pandas()
    np.testing.assert_allclose(pairs["mmd"], unweighted["mmd"])  # receptors are its units


def test_mean_kernels_are_those_of_all_pairs():
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=(n, 5)) for n in (3, 20, 7)]
    expected = [[significance.gaussian(one, other, 1.3).mean() for other in vectors] for one in vectors]
    np.testing.assert_allclose(significance.mean_kernels(vectors, 1.3), expected, rtol=1e-6)
