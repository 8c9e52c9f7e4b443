"""Diversity and overlap of two real samples are vdjtools', from our own tables of the same chains."""

import json

from airrvec.core import tables
from airrvec.repertoire import diversity

import compared_samples
import pytest
from vdjtools_values import STORED, repertoires

import describe_samples

VALUES = json.loads(STORED.read_text())
SAMPLES = list(VALUES["samples"])
EXACT = {"rel": 1e-9, "abs": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Both samples as AIRR tables, normalised, counted, described and compared."""
    folder = tmp_path_factory.mktemp("vdjtools")
    for name, table in repertoires().items():
        table.assign(productive="T").to_csv(folder / f"{name}.tsv", sep="\t", index=False)
    samples = [(name, folder / f"{name}.tsv", "--format", "airr") for name in SAMPLES]
    clones = compared_samples.compare(folder, samples)
    describe_samples.main(["--clones", str(clones), "--outdir", str(folder / "described")])
    return folder


@pytest.mark.parametrize("sample", SAMPLES)
def test_diversity_of_a_sample_is_vdjtools(folder, sample):
    expected = VALUES["samples"][sample]
    table = tables.read(folder / "described/diversity.parquet").to_pandas()
    (row,) = table[(table["sample_id"] == sample) & (table["chains"] == "beta")].itertuples()
    assert (row.n_cells, row.n_clones) == (expected["n"], expected["richness"])
    hill = (row.hill_0, row.hill_1, row.hill_2)
    names = ("richness", "shannon_wiener", "inverse_simpson")
    assert hill == pytest.approx([expected[name] for name in names], **EXACT)
    assert row.coverage == pytest.approx(expected["coverage"][str(expected["n"])], **EXACT)


@pytest.mark.parametrize("sample", SAMPLES)
def test_coverage_and_diversity_of_fewer_and_more_cells_are_vdjtools(sample):
    counts = repertoires()[sample]["duplicate_count"].to_numpy()
    expected = VALUES["samples"][sample]
    for n, value in expected["coverage"].items():
        assert diversity.coverage(counts, int(n)) == pytest.approx(value, **EXACT)
    for n, values in expected["hill_numbers"].items():
        assert diversity.hill_numbers_at(counts, int(n)) == pytest.approx(values, **EXACT)


def test_overlap_is_vdjtools(folder):
    table = tables.read(folder / "comparison/pairs.parquet").to_pandas()
    (row,) = table[table["chains"] == "beta"].itertuples()
    expected = VALUES["overlap"]
    assert row.n_shared == expected["d12"] > 10
    assert row.n_shared / (expected["d1"] * expected["d2"]) == pytest.approx(expected["D"], **EXACT)
    assert row.frequency_overlap == pytest.approx(expected["F"], **EXACT)
    assert row.jaccard == pytest.approx(VALUES["jaccard"], **EXACT)
