"""A sample without receptors of a class of chains is no unit of a test, a mean or a figure of that class."""

import shutil
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.chains import on_chains
from airrvec.encoders import load
from airrvec.synthetic.synthesis import synthesise

import clone_tables
import condition_runs
import pandas as pd
import pyarrow as pa
import pytest
from planted_repertoires import cells_table, plant

import cluster_receptors
import compare_samples


def add_bulk(folder, larger) -> None:
    """Copy a run, and add a sample of β chains with condition x."""
    shutil.copytree(folder, larger)
    known = tables.read(folder / "run/receptors.parquet")
    bulk = tables.distinct_receptors(on_chains(synthesise(60, seed=12), "beta").select(known.column_names))
    receptors = tables.distinct_receptors(pa.concat_tables([known, bulk]))
    encoder = load("sceptr")
    vectors = tables.embeddings_table(receptors["receptor_id"], encoder.embed(receptors))
    tables.write(receptors, larger / "run/receptors.parquet")
    tables.write(vectors, larger / "run/vectors.parquet", encoder.loaded.vector_model.metadata())
    ids, clonotypes = (bulk[name].to_pylist() for name in ("receptor_id", "clonotype_id"))
    cells = cells_table("bulk", "x", ids + ids[:10], dict(zip(ids, clonotypes, strict=True)))
    tables.write(cells, larger / "cells/bulk.cells.parquet")


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Results of a run, and of the same with a bulk sample: folders."""
    root = tmp_path_factory.mktemp("units")
    plant(root / "alone")
    add_bulk(root / "alone", root / "with bulk")
    for folder in (root / "alone", root / "with bulk"):
        cells = [str(path) for path in sorted((folder / "cells").iterdir())]
        clones = ["--clones", str(clone_tables.count(folder, cells, folder / "run/receptors.parquet"))]
        given = [*clones, "--receptors", str(folder / "run/receptors.parquet")]
        repertoires = [
            *given,
            "--embeddings",
            str(folder / "run/vectors.parquet"),
            "--cluster-chance",
            "0.02",
        ]
        repertoires += ["--background", str(folder / "background.parquet")]
        cluster_receptors.main(["--cells", *cells, *repertoires, "--outdir", str(folder / "clusters")])
        compare_samples.main(
            [*repertoires, "--compare-permutations", "99", "--outdir", str(folder / "comparison")]
        )
        parts = {"clusters": folder / "clusters", "comparison": folder / "comparison"}
        condition_runs.compare(folder, Path(clones[1]), "treatment", **parts)
    return root


PAIRED = [
    *(f"clusters/{name}" for name in ("clusters", "members")),
    *(f"comparison/{name}" for name in ("pairs", "samples_pca", "sample_vectors")),
    *("described/diversity", "described/rarefaction", "conditions/tests"),
]


@pytest.mark.parametrize("name", PAIRED)
def test_a_bulk_sample_changes_nothing_that_is_said_of_pairs(both, name):
    alone, larger = (
        tables.read(both / folder / f"{name}.parquet").to_pandas() for folder in ("alone", "with bulk")
    )
    alone, larger = (
        table[table["chains"] == "paired"].reset_index(drop=True).drop(columns="fdr", errors="ignore")
        for table in (alone, larger)
    )  # an FDR is of all tests of a measure
    assert len(alone)
    pd.testing.assert_frame_equal(alone, larger)


def test_figures_of_alpha_chains_have_no_row_for_a_bulk_sample_of_beta_chains(both):
    for name in ("gene_usage", "cdr3_lengths", "vj_pairing"):
        table = tables.read(both / f"with bulk/described/{name}.parquet").to_pandas()
        assert set(table.loc[table["sample_id"] == "bulk", "locus"]) == {"TRB"}
        assert {*table["locus"]} == {*schema.LOCI}
