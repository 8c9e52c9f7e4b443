"""The verbs of a notebook, and the command ``airrvec embed``, beside the pipeline's own functions."""

import os
import rlcompleter
import subprocess
import sys

import airrvec
from airrvec.app import cli
from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.input import reading
from airrvec.input.normalise import normalise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT

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
    assert found.pop("chains").tolist() == ["beta", "beta", pd.NA]
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
    assert [None if pd.isna(word) else word for word in found["chains"]] == chains
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


def test_what_is_no_file_is_named(tmp_path):
    (tmp_path / "runs").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, message in (
        ("runs", "runs: it is a folder, and a file is needed"),
        ("pipe", "pipe: it is no regular file"),
        ("absent.csv", r"absent\.csv: there is no such file"),
    ):
        with pytest.raises(InputError, match=message):
            airrvec.read(tmp_path / name)
    with pytest.raises(InputError, match="runs: it is a folder, and a file is needed"):
        reading.read_column_map(tmp_path / "runs")


def test_a_table_without_rows_is_said_to_be_empty():
    frame = airrvec.read(LABELLED).head(0)
    with pytest.raises(InputError, match="the table has no rows"):
        airrvec.embed(frame)
    with pytest.raises(InputError, match="the table has no rows"):
        airrvec.find(frame, "index")


def test_completion_shows_the_functions():
    assert {"read", "embed", "nearest", "find", "match_barcodes", "__version__"} <= {*dir(airrvec)}
    completions = rlcompleter.Completer({"airrvec": airrvec}).attr_matches("airrvec.n")
    assert [word.partition("(")[0] for word in completions] == ["airrvec.nearest"]
    code = "import sys, airrvec; dir(airrvec); print('pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "bin", capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_embed_of_a_table(tmp_path, expected):
    result, vectors = expected
    cli.main(["embed", str(LABELLED), "--out", str(tmp_path / "out/vectors.parquet"), "--threads", "1"])
    found = tables.read(tmp_path / "out/vectors.parquet").to_pandas().set_index("receptor_id")
    np.testing.assert_allclose(found.loc[result.receptors["receptor_id"].to_pylist()], vectors, atol=1e-6)
    cells = tables.read(tmp_path / "out/vectors_tables/dash_human.cells.parquet")
    assert cells.equals(result.cells)
    names = {path.relative_to(tmp_path / "out").as_posix() for path in tmp_path.glob("out/[!.]*")}
    assert names == {"vectors.parquet", "vectors.receptors.parquet", "vectors_tables"}
    assert {path.name for path in (tmp_path / "out/vectors_tables").iterdir()} == {
        *(f"dash_human.{name}.parquet" for name in ("cells", "chains", "rejects")),
        "dash_human.qc.json",
    }
