"""The files of `cells` are one table, whatever the formats of the samples and their metadata."""

import json

from airrvec.app.verbs import work
from airrvec.core import tables

import duckdb
import pandas as pd
import pyarrow.dataset
import pytest
from inputs import DATA, ROOT

# Of different containers and formats; the labelled table comes first by name and has no metadata.
INPUTS = {
    "b_10x": DATA / "10x.csv",
    "c_airr": DATA / "airr_single_cell.tsv",
    "d_scirpy": DATA / "scirpy.h5ad",
    "e_vdjdb": DATA / "vdjdb_full.tsv",
    "a_labelled": ROOT / "assets/demo/dash_human.csv",
}
METADATA = {"tissue": "blood", "donor": None}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Cells of all, with metadata as check_samples.py gives it: the same columns for every table."""
    out = tmp_path_factory.mktemp("cells")
    for name, path in INPUTS.items():
        metadata = dict.fromkeys(METADATA) if name == "a_labelled" else {**METADATA, "donor": name}
        work.script("normalise_receptors").main(
            [str(path), "--sample", name, "--metadata", json.dumps(metadata), "--outdir", str(out / "made")]
        )
        (out / "cells").mkdir(exist_ok=True)
        (out / f"made/{name}.cells.parquet").rename(out / f"cells/{name}.parquet")
    return out / "cells"


@pytest.fixture(scope="module")
def rows(folder) -> list[dict]:
    return [row for path in sorted(folder.iterdir()) for row in tables.read(path).to_pylist()]


def test_names_and_types_are_the_same(folder):
    schemas = [tables.arrow_schema(path) for path in sorted(folder.iterdir())]
    assert len(schemas) == len(INPUTS)
    assert all(found.equals(schemas[0]) for found in schemas)
    assert schemas[0].names[-2:] == ["tissue", "donor"]


def test_pandas_loses_nothing(folder, rows):
    frame = pd.read_parquet(folder)
    assert len(frame) == len(rows)
    donors = frame.groupby("sample_id")["donor"].agg(lambda values: values.iloc[0]).to_dict()
    assert donors == {name: None if name == "a_labelled" else name for name in INPUTS}


def test_arrow_loses_nothing(folder, rows):
    assert pyarrow.dataset.dataset(folder).to_table().to_pylist() == rows


def test_duckdb_loses_nothing(folder, rows):
    found = duckdb.sql(f"FROM read_parquet('{folder}/*.parquet')").to_arrow_table().to_pylist()
    key = str
    assert sorted(found, key=key) == sorted(rows, key=key)


def test_polars_loses_nothing(folder, rows):
    polars = pytest.importorskip("polars", reason="polars is none of the project's packages")
    found = polars.read_parquet(f"{folder}/*.parquet").to_dicts()
    assert sorted(found, key=str) == sorted(rows, key=str)
