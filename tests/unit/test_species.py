"""Mice and humans share a run, and each is compared within its species: as if it were alone."""

import importlib
import json

from airrvec.core import schema, tables
from airrvec.encoders import load
from airrvec.report.sections import clusters as report_clusters
from airrvec.report.sections import comparison
from airrvec.synthetic.background import background
from airrvec.synthetic.synthesis import synthesise

import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from inputs import ROOT

SPECIES = ("homosapiens", "musmusculus")
RUNS = {"both": SPECIES, **{species: (species,) for species in SPECIES}}


def run(name: str, *arguments) -> None:
    importlib.import_module(name).main([str(argument) for argument in arguments])


def cells_of(sample: str, receptors: pa.Table, epitopes=None, studies=None) -> pa.Table:
    n = len(receptors)
    columns = {field.name: pa.nulls(n, field.type) for field in schema.CELLS}
    columns |= {name: receptors[name] for name in ("receptor_id", "clonotype_id", "species")}
    columns |= {"sample_id": [sample] * n, "cell_id": [f"{sample}{row}" for row in range(n)]}
    columns |= {
        "abundance": pa.array([1] * n, pa.int64()),
        "count_unit": pa.array(["cells"] * n, pa.string()),
    }
    if epitopes is not None:
        columns |= {"epitope": epitopes, "reference_id": studies}
    return pa.table(columns, schema=schema.CELLS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs of both species and of each alone: two samples of 60 receptors a species, 60 more are labelled."""
    folder = tmp_path_factory.mktemp("species")
    made = {name: synthesise(180, seed=5, species=name) for name in SPECIES}
    backgrounds = [synthesise(1500, seed=6, species=name) for name in SPECIES]
    tables.write(pa.concat_tables(backgrounds), folder / "background.parquet")
    encoder = load("sceptr_tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bin")
        for name, found in RUNS.items():
            at = folder / name
            receptors = pa.concat_tables([made[species] for species in found])
            receptors = receptors.sort_by([("clonotype_id", "ascending"), ("receptor_id", "ascending")])
            tables.write(receptors, at / "receptors.parquet")
            vectors = tables.embeddings_table(receptors["receptor_id"], encoder.embed(receptors))
            tables.write(vectors, at / "vectors.parquet", encoder.loaded.vector_model.metadata())
            for number, sample in enumerate("ab"):
                part = pa.concat_tables([made[species].slice(50 * number, 70) for species in found])
                tables.write(cells_of(sample, part), at / f"{sample}.cells.parquet")
            known = pa.concat_tables([made[species].slice(100, 60) for species in found])
            epitopes = [f"E{row % 2}" for row in range(len(known))]
            studies = [f"s{row // 2 % 6}" for row in range(len(known))]
            tables.write(cells_of("labelled", known, epitopes, studies), at / "labelled.cells.parquet")
            cells = [at / f"{sample}.cells.parquet" for sample in "ab"]
            background = ["--background", folder / "background.parquet", "--model", "sceptr_tiny"]
            given = ["--receptors", at / "receptors.parquet", *background]
            of_all = [
                "--embeddings",
                at / "vectors.parquet",
                "--clones",
                clone_tables.count(at, cells, at / "receptors.parquet"),
                "--cluster-chance",
                0.3,
                *given,
            ]
            run("compare_samples", *of_all, "--compare-permutations", 19, "--outdir", at / "compared")
            run("cluster_receptors", "--cells", *cells, *of_all, "--outdir", at / "clusters")
            labelled = ["--cells", at / "labelled.cells.parquet", *given, "--species", *found]
            run("calibrate_annotation", *labelled, "--outdir", at / "annotation")
            sample = ["--cells", cells[0], "--receptors", at / "receptors.parquet", "--sample", "a"]
            sample += ["--embeddings", at / "vectors.parquet", "--reference", at / "annotation/reference"]
            sample += ["--model", "sceptr_tiny"]
            run("annotate_receptors", *sample, "--annotation-fdr", 0.9, "--outdir", at / "annotation")
    return folder


TABLES = [
    *(f"compared/{name}" for name in ("pairs", "samples_pca", "sample_vectors")),
    *(f"clusters/{name}" for name in ("clusters", "members")),
    *(f"annotation/{name}" for name in ("calibration", "precision_recall", "epitopes", "receptors", "a")),
]


@pytest.mark.parametrize("name", TABLES)
def test_each_species_has_the_rows_that_it_has_alone(name, folder):
    both = tables.read(folder / "both" / f"{name}.parquet").to_pandas()
    for species in SPECIES:
        alone = tables.read(folder / species / f"{name}.parquet").to_pandas()
        found = both[both["species"] == species].reset_index(drop=True)
        if "cell_id" in alone:  # numbered within the sample
            alone, found = alone.drop(columns="cell_id"), found.drop(columns="cell_id")
        assert (alone["species"] == species).all()
        if name != "compared/samples_pca":
            assert len(alone)
        pd.testing.assert_frame_equal(found, alone, rtol=1e-5)


def test_every_nearest_reference_is_a_row_of_the_published_reference(folder):
    calls = tables.read(folder / "both/annotation/a.parquet").to_pandas()
    reference = tables.read(folder / "both/annotation/receptors.parquet").to_pandas()
    assert list(reference.columns) == schema.ANNOTATION_REFERENCE.names
    assert (calls["call"] != "not calibrated").all()
    for row in calls.itertuples():
        for place in (1, 2, 3):
            nearest = getattr(row, f"nearest_{place}_id")
            rows = reference[reference[f"{row.chains}_id"] == nearest]
            assert nearest in set(rows["receptor_id"])
            assert set(rows["species"]) == {row.species}
            assert ";".join(sorted(set(rows["epitope"]))) == getattr(row, f"nearest_{place}_epitope")
            assert ";".join(sorted(set(rows["reference_id"]))) == getattr(row, f"nearest_{place}_study")
            assert rows[[f"tr{locus}_junction_aa" for locus in "ab"]].notna().all(axis=None)


def test_a_class_knows_a_receptor_by_the_first_that_shares_its_chains(folder, monkeypatch):
    """Two labelled pairs with one β chain are one reference of β chains, and both are published."""
    monkeypatch.syspath_prepend(ROOT / "bin")
    receptors = tables.read(folder / "homosapiens/receptors.parquet").to_pandas()
    cells = tables.read(folder / "homosapiens/labelled.cells.parquet").to_pandas()
    first, second = sorted(cells["receptor_id"])[:2]
    row = receptors.set_index("receptor_id").loc[first]
    for name in ("trb_v_call", "trb_j_call", "trb_junction_aa"):
        receptors.loc[receptors["receptor_id"] == second, name] = row[name]
    at = folder / "shared"
    tables.write(
        pa.Table.from_pandas(receptors, schema.RECEPTORS, preserve_index=False), at / "receptors.parquet"
    )
    options = ["--background", folder / "background.parquet", "--model", "sceptr_tiny", "--outdir", at]
    labelled = folder / "homosapiens/labelled.cells.parquet"
    run("calibrate_annotation", "--cells", labelled, "--receptors", at / "receptors.parquet", *options)
    found = tables.read(at / "receptors.parquet").to_pandas().set_index("receptor_id")
    assert (found.loc[[first, second], "beta_id"] == first).all()
    assert found.loc[second, "paired_id"] == second


def test_the_report_names_species_where_there_are_several(folder):
    for name, words in (
        ("both", {"α and β chains, human", "α and β chains, mouse"}),
        (SPECIES[0], {"α and β chains"}),
    ):
        clusters = report_clusters.read_clusters(folder / name / "clusters")
        overview = report_clusters.cluster_sections(clusters)[0]
        assert set(overview["data"]) == words
        compared = comparison.read_comparison(folder / name / "compared")
        pairs = comparison.comparison_sections(compared)[1]
        assert set(pairs["data"]) == {f"a and b, {word}" for word in words}


def test_a_species_without_background_is_left_out_with_its_reason(folder, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "bin")
    tables.write(synthesise(1500, seed=6), folder / "human.parquet")
    at = folder / "both"
    given = [
        "--receptors",
        at / "receptors.parquet",
        "--embeddings",
        at / "vectors.parquet",
        "--cluster-chance",
        0.3,
    ]
    given += ["--clones", at / "clones", "--model", "sceptr_tiny"]
    given += ["--background", folder / "human.parquet", "--outdir", at / "human"]
    run("cluster_receptors", "--cells", at / "a.cells.parquet", at / "b.cells.parquet", *given)
    qc = json.loads((at / "human/clusters.qc.json").read_text())
    assert {group["species"] for group in qc["groups"]} == {"homosapiens"}
    assert "0 background receptors" in qc["without_background"]["musmusculus"]
    found = report_clusters.read_clusters(at / "human")
    assert "Not compared, mouse: " in report_clusters.cluster_sections(found)[0]["description"]
    members = tables.read(at / "human/members.parquet").to_pandas()
    assert members.groupby("species")["chains"].count().to_dict() == {"homosapiens": 180, "musmusculus": 0}


def test_olga_gives_a_background_of_mice():
    empty = pa.chunked_array([pa.array([], pa.string())])
    found = background(None, 50, species="musmusculus", seed=1, leave_out=empty)
    assert len(found) == 50
    assert found["species"].unique().to_pylist() == ["musmusculus"]
    assert synthesise(50, seed=1)["species"].unique().to_pylist() == ["homosapiens"]


def test_loops_are_those_of_the_receptors_species():
    """Genes of one name have other loops in mice, and a vector depends on no other row of its table."""
    row = {"trb_v_call": "TRBV2*01", "trb_j_call": "TRBJ2-7*01", "trb_junction_aa": "CASSQDWGYEQYF"}
    rows = [{"receptor_id": species, "species": species, **row} for species in SPECIES]
    mixed = pa.Table.from_pylist(rows, schema.RECEPTORS)
    encoder = load("sceptr_tiny")
    vectors = encoder.embed(mixed)
    assert np.linalg.norm(vectors[0] - vectors[1]) > 0.01
    for number, species in enumerate(SPECIES):
        alone = mixed.filter(pc.equal(mixed["species"], species))
        np.testing.assert_allclose(encoder.embed(alone)[0], vectors[number], atol=1e-6)
