"""Antigens of the epitopes of clusters, from the labels of the run's cells."""

from airrvec.core import schema, tables
from airrvec.repertoire.cluster_tables import ANTIGEN_COLUMNS, describe_epitopes, with_antigens

import pyarrow as pa

NAMES = ("epitope", "antigen_gene", "antigen_species", "mhc_a", "mhc_b")


def cells(path, *labels):
    columns = {field.name: pa.nulls(len(labels), field.type) for field in schema.CELLS}
    columns |= {
        name: pa.array(values, pa.string())
        for name, values in zip(NAMES, zip(*labels, strict=True), strict=True)
    }
    tables.write(pa.table(columns), path)
    return path


def test_the_most_frequent_label_of_an_epitope_describes_it(tmp_path):
    flu = ("GIL", "M1", "Influenza A", "HLA-A*02", "B2M")
    other = ("GIL", "M", "Influenza A", "HLA-A*02:01", "B2M")
    second = ("DR", None, None, "HLA-DRA*01", "HLA-DRB1*04:01")
    none = (None, "gene", "species", "mhc", None)
    paths = [
        cells(tmp_path / "a.parquet", flu, other, none, second),
        cells(tmp_path / "b.parquet", flu, ("X", None, None, None, None)),
    ]
    found = describe_epitopes(paths)
    assert {epitope: tuple(row) for epitope, row in found.astype(object).T.items()} == {
        "GIL": ("M1", "Influenza A", "HLA-A*02"),
        "DR": (None, None, "HLA-DRA*01/HLA-DRB1*04:01"),
        "X": (None, None, None),
    }
    clusters = pa.table(
        {"epitope": ["DR", None, "GIL", "unknown"], **{name: pa.nulls(4) for name in ANTIGEN_COLUMNS}}
    )
    described = with_antigens(clusters, found)
    assert described["antigen_gene"].to_pylist() == [None, None, "M1", None]
    assert described["antigen_species"].to_pylist() == [None, None, "Influenza A", None]
    assert described["mhc"].to_pylist() == ["HLA-DRA*01/HLA-DRB1*04:01", None, "HLA-A*02", None]


def test_a_run_without_labels_has_no_antigens(tmp_path):
    found = describe_epitopes([cells(tmp_path / "a.parquet", (None,) * 5)])
    assert found.empty
    clusters = pa.table(
        {"epitope": pa.nulls(1, pa.string()), **{name: pa.nulls(1) for name in ANTIGEN_COLUMNS}}
    )
    assert with_antigens(clusters, found)["mhc"].to_pylist() == [None]
