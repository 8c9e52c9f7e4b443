"""The verbs of a notebook, and the command ``airrvec embed``, beside the pipeline's own functions."""

import subprocess
import sys
from typing import get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT

import airrvec
from airrvec.app import api, cli
from airrvec.core import devices, schema, tables
from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.input import reading
from airrvec.input.normalise import normalise

LABELLED = ROOT / "assets/demo/dash_human.csv"


@pytest.fixture(scope="module")
def expected():
    """The receptors of the labelled table, and their vectors."""
    source = reading.open_chains(LABELLED)
    result = normalise(source, sample_id="dash_human", species="homosapiens")
    return result, Sceptr("sceptr").embed(result.receptors)


def test_import_loads_nothing_heavy():
    heavy = ("numpy", "pandas", "pyarrow", "torch", "numba")
    code = f"import sys, airrvec; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "bin", capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_types_name_species_and_devices():
    assert get_args(api.Species) == tuple(schema.SPECIES)
    assert set(get_args(api.Device)) == set(devices.DEVICES)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nearset'"):
        airrvec.nearset  # noqa: B018


def test_read_and_embed_are_the_pipelines(expected):
    result, vectors = expected
    frame = airrvec.read(LABELLED)
    assert frame["cell_id"].tolist() == result.cells["cell_id"].to_pylist()
    assert frame.attrs["counts"]["rows_in"] == 415
    found = airrvec.embed(frame.set_index("cell_id"))
    assert list(found.columns) == [*schema.dimensions(64), "chains"]
    assert set(found.pop("chains")) == {"paired"}
    assert list(found.index) == result.cells["cell_id"].to_pylist()
    row = {receptor: i for i, receptor in enumerate(result.receptors["receptor_id"].to_pylist())}
    rows = [row[receptor] for receptor in result.cells["receptor_id"].to_pylist()]
    np.testing.assert_allclose(found, vectors[rows], atol=1e-6)


def test_embed_standardises_and_says_what_it_cannot_read():
    frame = pd.DataFrame(
        {
            "trb_v_call": ["TCRBV07-09", "TRBV7-9*01", "TRBV19"],
            "trb_junction_aa": ["CASSLGQAYEQYF"] * 2 + ["?"],
        },
        index=["x", "y", "z"],
    )
    with pytest.warns(UserWarning, match="1 of 3 rows have no vector"):
        found = airrvec.embed(pa.Table.from_pandas(frame))
    assert found.pop("chains").tolist() == ["beta", "beta", None]
    np.testing.assert_allclose(found.loc["x"], found.loc["y"], atol=1e-3)
    assert found.loc["z"].isna().all()


@pytest.mark.parametrize(
    ("model", "chains"),
    [
        ("sceptr", ["paired", "beta", "alpha", "alpha", None]),
        ("sceptr_beta_only", ["beta", "beta", *[None] * 3]),
    ],
)
def test_embed_says_which_chains_a_vector_has_seen(model, chains):
    """One bad chain is told; one that was never given is none."""
    alpha, beta = ("TRAV27", "CAGAGSQGNLIF"), ("TRBV19", "CASSIRSSYEQYF")
    rows = [(*alpha, *beta), (alpha[0], "C*F", *beta), (*alpha, "TRBV999", beta[1]), (*alpha, None, None)]
    names = ("tra_v_call", "tra_junction_aa", "trb_v_call", "trb_junction_aa")
    frame = pd.DataFrame([*rows, (None, "?", "", "?")], columns=names)
    with pytest.warns(UserWarning, match="rows have") as told:
        found = airrvec.embed(frame, model=model)
    assert found["chains"].tolist() == chains
    assert found["dim_01"].notna().tolist() == [word is not None for word in chains]
    lost = sum(word is not None for word in chains[1:3])
    counts = {"rows": 5, "without_vector": chains.count(None), "chain_lost": lost}
    assert found.attrs["counts"] == counts
    sentences = [str(warning.message) for warning in told]
    assert f"{chains.count(None)} of 5 rows have no vector" in sentences[0]
    sentence = f"{lost} of 5 rows have a vector of only one chain, because the other was rejected ("
    assert sentence in sentences[1]
    assert "1 × junction_aa" in sentences[1]
    assert len(airrvec.nearest(found, found, k=1)) == 5 - chains.count(None)


def test_embed_needs_a_junction():
    with pytest.raises(InputError, match="no column tra_junction_aa or trb_junction_aa"):
        airrvec.embed(pd.DataFrame({"cdr3": ["CASSLGQAYEQYF"]}))


def test_nearest_is_the_least_distance():
    rng = np.random.default_rng(1)
    queries = pd.DataFrame(rng.normal(size=(5, 8)).astype(np.float32), index=list("abcde"))
    references = pd.DataFrame(rng.normal(size=(7, 8)).astype(np.float32), index=list("tuvwxyz"))
    queries.loc["c"] = np.nan
    found = airrvec.nearest(queries, references, k=3)
    assert found["query"].tolist() == [name for name in "abde" for _ in range(3)]
    for name, rows in found.groupby("query"):
        distances = np.sqrt(((references - queries.loc[name]) ** 2).sum(axis=1)).sort_values()
        assert rows["reference"].tolist() == list(distances.index[:3])
        np.testing.assert_allclose(rows["distance"], distances[:3], rtol=1e-5)
        assert rows["rank"].tolist() == [1, 2, 3]


def test_embed_of_a_table(tmp_path, expected):
    result, vectors = expected
    cli.main(["embed", str(LABELLED), "--out", str(tmp_path / "out/vectors.parquet"), "--cpus", "1"])
    found = tables.read(tmp_path / "out/vectors.parquet").to_pandas().set_index("receptor_id")
    np.testing.assert_allclose(found.loc[result.receptors["receptor_id"].to_pylist()], vectors, atol=1e-6)
    cells = tables.read(tmp_path / "out/dash_human.cells.parquet")
    assert cells.equals(result.cells)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        *("vectors.parquet", "vectors.receptors.parquet"),
        *(f"dash_human.{name}.parquet" for name in ("cells", "chains", "rejects")),
        "dash_human.qc.json",
    }
