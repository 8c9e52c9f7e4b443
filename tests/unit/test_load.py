"""A model as a module of PyTorch: its vectors, a step of training, and what is said of other types."""

import airrvec
from airrvec.core import errors
from airrvec.core.errors import InputError

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pytest
import torch
from inputs import ROOT


@pytest.fixture(scope="module")
def receptors() -> pd.DataFrame:
    return airrvec.read(ROOT / "assets/demo/dash_human.csv").head(60)


@pytest.mark.parametrize("model", ["sceptr", "sceptr_average_pooling", "sceptr_left_aligned"])
def test_its_vectors_are_those_of_embed(model, receptors):
    module = airrvec.load(model)
    expected = airrvec.embed(receptors, model=model).filter(like="dim_")
    np.testing.assert_allclose(module.embed(receptors), expected, atol=1e-5)
    for table in (pa.Table.from_pandas(receptors), polars.from_pandas(receptors)):
        np.testing.assert_allclose(module.embed(table), expected, atol=1e-5)
    batch = module.tokenise(receptors)
    with torch.no_grad():
        np.testing.assert_allclose(module(batch.tokens, batch.padding), expected, atol=1e-5)
        part = batch[3:5]
        np.testing.assert_allclose(module(part.tokens, part.padding), expected[3:5], atol=1e-5)


def test_a_row_without_a_receptor_has_no_vector_and_no_place_in_a_batch(receptors):
    module = airrvec.load("sceptr_tiny")
    frame = receptors[["trb_v_call", "trb_junction_aa"]].head(4).reset_index(drop=True)
    frame.loc[2] = None
    vectors = module.embed(frame)
    assert np.isnan(vectors).all(axis=1).tolist() == [False, False, True, False]
    with pytest.raises(InputError, match=r"1 row has no receptor .*\(row numbers from 0: 2\)"):
        module.tokenise(frame)


def test_it_trains_and_is_saved_as_the_folder_of_a_model(receptors, tmp_path):
    module = airrvec.load("sceptr_tiny", dropout=0).train()
    batch = module.tokenise(receptors)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.003)
    values = []
    for _ in range(3):
        loss = module(batch.tokens, batch.padding).mean(0).square().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        values.append(loss.item())
    assert values == sorted(values, reverse=True)
    vectors = module.embed(receptors)
    assert module.training
    module.save(tmp_path / "mine")
    again = airrvec.load(tmp_path / "mine")
    assert (again.name, again.training) == ("mine", False)
    np.testing.assert_array_equal(again.embed(receptors), vectors)
    found = airrvec.embed(receptors, model=tmp_path / "mine")
    np.testing.assert_allclose(found.filter(like="dim_"), vectors, atol=1e-5)
    with pytest.raises(InputError, match="'sceptr' is the name of a published model"):
        module.save(tmp_path / "sceptr")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("table.tsv", r"the receptors are a str, and no table\. Read it with airrvec\.read\('table\.tsv'\)"),
        (["CASSF"], r"the receptors are a list, and no table\. Give a DataFrame or a pyarrow\.Table"),
        ({"a": pd.DataFrame()}, "the receptors are a dict, and no table"),
        (None, "the receptors are None, and no table"),
        (np.zeros((3, 64)), "the receptors are a ndarray, and no table"),
        (pd.Series(["CASSF"]), "the receptors are a Series, and no table"),
        (pd.DataFrame({"cdr3": ["CASSF"]}), "has no column tra_junction_aa or trb_junction_aa"),
        (pd.DataFrame({"trb_junction_aa": []}), "the table has no rows"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_named(table, problem):
    module = airrvec.load("sceptr_tiny")
    for function in (module.embed, module.tokenise):
        with pytest.raises(InputError, match=problem):
            function(table)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"model": "scepter"}, "there is no model 'scepter'"),
        ({"model": pd.DataFrame()}, "the model is a DataFrame, not a name or a path"),
        ({"dropout": 1}, "the dropout does not fit: dropout is 1.0, not at least 0 and below 1"),
        ({"dropout": "x"}, "the dropout does not fit"),
        ({"device": "tpu"}, "device is 'tpu', and must be"),
    ],
)
def test_arguments_that_do_not_fit_are_named(arguments, problem):
    with pytest.raises(InputError, match=problem):
        airrvec.load(**{"model": "sceptr_tiny", **arguments})


def test_without_torch_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda package: None)
    with pytest.raises(InputError, match=r"pip install 'airrvec\[learn\]'"):
        airrvec.load("sceptr_tiny")
