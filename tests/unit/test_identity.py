"""A clonotype is one, whether a file names its alleles or not."""

import csv
import gzip
import importlib
import itertools

from airrvec.annotation import reference_set
from airrvec.annotation.annotator import Annotator
from airrvec.annotation.evidence import Sources
from airrvec.core import schema, tables
from airrvec.core.chains import CHAIN_CLASSES, chain_class_sql, chain_classes
from airrvec.encoders import load
from airrvec.figures import map_page
from airrvec.repertoire import layout
from airrvec.synthetic.synthesis import synthesise

import clone_tables
import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT

SOURCE = ROOT / "assets/test/pbmc_a.csv.gz"


def run(name: str, *arguments) -> None:
    importlib.import_module(name).main([str(argument) for argument in arguments])


def rows_of(path) -> list[dict]:
    with gzip.open(path, "rt", newline="") as handle:
        return list(csv.DictReader(handle))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A real 10x file as samples ``genes``, and ``alleles``, where ``*01`` follows every gene."""
    folder = tmp_path_factory.mktemp("identity")
    rows = rows_of(SOURCE)
    with (folder / "alleles.csv").open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0])
        writer.writeheader()
        for row in rows:
            calls = {
                name: f"{row[name]}*01" for name in ("v_gene", "j_gene") if row[name] not in ("", "None")
            }
            writer.writerow({**row, **calls})
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bin")
        for sample, path in (("genes", SOURCE), ("alleles", folder / "alleles.csv")):
            run("normalise_receptors", path, "--sample", sample, "--outdir", folder / "cells")
        parts = sorted((folder / "cells").glob("*.receptors_0000.parquet"))
        run("collect_receptors", *parts, "--outdir", folder)
        receptors = tables.read(folder / "receptors.parquet")
        encoder = load("sceptr_tiny")
        vectors = tables.embeddings_table(receptors["receptor_id"], encoder.embed(receptors))
        tables.write(vectors, folder / "vectors.parquet", encoder.loaded.vector_model.metadata())
        tables.write(synthesise(1200, seed=9), folder / "background.parquet")
        cells = sorted((folder / "cells").glob("*.cells.parquet"))
        given = ["--clones", clone_tables.count(folder, cells, folder / "cells")]
        given += ["--receptors", folder / "receptors.parquet", "--embeddings", folder / "vectors.parquet"]
        given += [
            "--background",
            folder / "background.parquet",
            "--cluster-chance",
            0.5,
            "--model",
            "sceptr_tiny",
        ]
        run("compare_samples", *given, "--compare-permutations", 19, "--outdir", folder / "compared")
        run("describe_samples", *given[:2], "--outdir", folder / "described")
        run("cluster_receptors", "--cells", *cells, *given, "--outdir", folder / "clusters")
    return folder


def read(folder, name: str) -> pd.DataFrame:
    return tables.read(folder / f"{name}.parquet").to_pandas()


def test_every_receptor_of_the_two_files_is_another_and_every_clonotype_the_same(folder):
    genes, alleles = (read(folder / "cells", f"{name}.cells") for name in ("genes", "alleles"))
    assert len(genes) > 70
    assert genes["clonotype_id"].equals(alleles["clonotype_id"])
    assert genes["receptor_id"].equals(genes["clonotype_id"])
    assert not set(genes["receptor_id"]) & set(alleles["receptor_id"])
    receptors = read(folder, "receptors")
    assert len(receptors) == 2 * receptors["clonotype_id"].nunique()
    assert (receptors["n_samples"] == 2).all()


def test_samples_share_everything(folder):
    pairs = read(folder / "compared", "pairs")
    diversity = read(folder / "described", "diversity").set_index(["chains", "sample_id"])
    cells = read(folder / "cells", "genes.cells")
    assert set(pairs["chains"]) == {"paired", "alpha", "beta"}
    assert pairs["n_shared"].sum() == cells["clonotype_id"].nunique()
    for row in pairs.itertuples():
        assert (row.jaccard, row.morisita_horn) == (1, pytest.approx(1))
        assert (row.near_1_in_2, row.near_2_in_1) == (1, 1)
        assert row.n_shared == diversity.loc[(row.chains, "genes"), "n_clones"]
        pd.testing.assert_series_equal(
            diversity.loc[(row.chains, "genes")], diversity.loc[(row.chains, "alleles")], check_names=False
        )


def test_a_receptor_is_no_neighbour_of_itself_with_alleles(folder):
    members = read(folder / "clusters", "members").merge(
        read(folder, "receptors")[["receptor_id", "clonotype_id"]]
    )
    assert len(members) == len(read(folder, "receptors"))
    of_clonotypes = members[["clonotype_id", "n_neighbours", "n_expected", "cluster_id"]].drop_duplicates()
    assert of_clonotypes["clonotype_id"].is_unique
    clustered = members.dropna(subset="cluster_id")
    assert 0 < len(clustered) < len(members)
    clonotypes = clustered.groupby("cluster_id")["clonotype_id"].nunique()
    clusters = read(folder / "clusters", "clusters").set_index("cluster_id")
    assert (clonotypes >= 2).all()
    assert (clusters["n_receptors"] == clonotypes.reindex(clusters.index)).all()
    assert (clusters["n_samples"] == 2).all()


def test_points_of_the_map_have_the_samples_of_their_clonotype(folder):
    receptors = read(folder, "receptors")
    places = pd.DataFrame({"receptor_id": receptors["receptor_id"], "map_1": 0.0, "map_2": 1.0})
    paths = sorted((folder / "cells").glob("*.cells.parquet"))
    cells = layout.read_cells(paths, receptors["clonotype_id"].unique().tolist())
    what = {"n": len(places), "density": None, "method": "pca", "model": "sceptr"}
    counted = layout.abundances(paths, None, receptors["receptor_id"].tolist())
    shown = map_page.content(places, receptors, cells, counted, **what)
    colour = next(one for one in shown["colours"] if one["title"] == "Sample")
    assert colour["values"] == ["several"]
    assert set(colour["codes"]) == {0}
    assert sum(shown["cells"]) == sum(sum(tables.read(path)["abundance"].to_pylist()) for path in paths)


def test_annotation_finds_a_labelled_clonotype_by_its_genes(folder):
    """References that name genes, alleles or both are as many, and are found by either file."""
    found = {}
    for name in ("genes", "alleles"):
        cells = tables.read(folder / "cells" / f"{name}.cells.parquet")
        epitopes = pa.array([f"E{int(digits[:4], 16) % 7}" for digits in cells["clonotype_id"].to_pylist()])
        cells = cells.set_column(cells.schema.get_field_index("epitope"), "epitope", epitopes)
        found[name] = cells, tables.read(folder / "cells" / f"{name}.receptors_0000.parquet")
    both = tuple(pa.concat_tables(tables) for tables in zip(*found.values(), strict=True))
    for chains in CHAIN_CLASSES:
        references = [
            reference_set.build_reference_set(*given, chains=chains, species="homosapiens", innate=True)
            for given in (*found.values(), both)
        ]
        assert len({len(reference) for reference in references}) == 1
        for reference in references:
            sources = Sources(chains, {chains: reference}, {}, reference.receptors, {}, len, 1)
            annotator = Annotator(sources, None, None)
            for _, receptors in found.values():
                known = tables.distinct_receptors(receptors).filter(
                    pa.array(chain_classes(tables.distinct_receptors(receptors)) == chains)
                )
                exact = annotator.exact(known["clonotype_id"])
                expected = [f"E{int(digits[:4], 16) % 7}" for digits in known["clonotype_id"].to_pylist()]
                assert len(exact)
                if chains == "paired":
                    assert exact.tolist() == expected
                else:  # pairs with the same chain may have other epitopes
                    assert all(one in words.split(";") for one, words in zip(expected, exact, strict=True))
    assert schema.ANNOTATION.get_field_index("exact_epitope") > 0


@pytest.mark.parametrize("lineage", [schema.ALPHA_BETA, schema.GAMMA_DELTA])
def test_duckdb_gives_receptors_the_same_class(lineage):
    names = [schema.field(locus, "junction_aa") for locus in lineage.loci]
    rows = [dict(zip(names, pair, strict=True)) for pair in itertools.product(("CAF", None), repeat=2)]
    receptors = pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))
    found = duckdb.from_arrow(receptors).project(chain_class_sql(lineage)).fetchall()
    assert [name or "" for (name,) in found] == list(chain_classes(receptors, lineage))
    assert [name for (name,) in found] == [*lineage.chains, None]
