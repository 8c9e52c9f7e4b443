"""`airrvec.nearest`: vectors in DataFrames, and their models."""

import re
import warnings

import airrvec
from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.vectors import VectorModel
from airrvec.model import weights

import numpy as np
import pandas as pd
import pytest
from inputs import ROOT

LABELLED = ROOT / "assets/demo/dash_human.csv"


def vectors_of(model: str | None, n: int, width: int = 8, seed: int = 1) -> pd.DataFrame:
    """Random vectors, of a model or of none."""
    vectors = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
    frame = pd.DataFrame(vectors, list("abcdefghij"[:n]), schema.dimensions(width))
    if model:
        frame.attrs["airrvec"] = VectorModel(model, f"0123{model}", width).described()
    return frame


def test_nearest_is_the_least_distance():
    queries, references = vectors_of("x", 5), vectors_of("x", 7, seed=2)
    queries.loc["c"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = airrvec.nearest(queries, references, k=3)
    assert found["query"].tolist() == [name for name in "abde" for _ in range(3)]
    for name, rows in found.groupby("query"):
        distances = np.sqrt(((references - queries.loc[name]) ** 2).sum(axis=1)).sort_values()
        assert rows["reference"].tolist() == list(distances.index[:3])
        np.testing.assert_allclose(rows["distance"], distances[:3], rtol=1e-5)
        assert rows["rank"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("queries", "references"),
    [
        (vectors_of("x", 3), vectors_of("y", 4)),
        (vectors_of("x", 3), vectors_of("x", 4, width=16)),
        (vectors_of("x", 3, width=16), vectors_of("x", 4)),
    ],
)
def test_vectors_of_two_models_are_refused_by_name(queries, references):
    models = [VectorModel.read(frame.attrs["airrvec"]) for frame in (queries, references)]
    message = (
        f"the queries are of the model {models[0]}, and those of the references of {models[1]}: vectors of"
        " two models cannot be compared."
    )
    with pytest.raises(InputError, match=re.escape(message)):
        airrvec.nearest(queries, references, k=1)


@pytest.mark.parametrize(
    ("queries", "references", "unknown"),
    [
        (None, None, "queries and the references do not name their model"),
        (None, "x", "queries do not name their model"),
        ("x", None, "references do not name their model"),
    ],
)
def test_vectors_that_lost_their_model_are_compared_with_a_warning(queries, references, unknown):
    found, known = vectors_of(queries, 3), vectors_of(references, 4, seed=2)
    with pytest.warns(UserWarning, match=f"the {unknown}") as warned:
        hits = airrvec.nearest(found, known, k=2)
    assert warned[0].filename == __file__
    for frame in (found, known):
        frame.attrs["airrvec"] = VectorModel("x", "0", 8).described()
    pd.testing.assert_frame_equal(hits, airrvec.nearest(found, known, k=2))
    with pytest.raises(InputError, match="the queries have 8 dimensions, the references 16: vectors of two"):
        airrvec.nearest(vectors_of(queries, 3), vectors_of(references, 4, width=16), k=1)


def test_pandas_drops_the_model_in_concat_and_merge():
    """The reason for the warning: if this fails, its sentence is wrong."""
    frame = airrvec.read(LABELLED)
    one, two = airrvec.embed(frame.head(5)), airrvec.embed(frame.tail(7))
    assert "airrvec" not in pd.concat([one, two]).attrs
    assert "airrvec" not in one.merge(two, how="outer").attrs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        airrvec.nearest(one.iloc[:2], two.assign(x=1).sort_values("dim_03"), k=1)


def test_columns_beside_the_vectors_and_their_order_change_nothing():
    frame = airrvec.read(LABELLED).head(30)
    vectors = airrvec.embed(frame)
    expected = airrvec.nearest(vectors, vectors, k=3)
    joined = frame.join(vectors)[["trb_v_call", *reversed(vectors.columns), "umi_count"]]
    joined.attrs = vectors.attrs
    pd.testing.assert_frame_equal(airrvec.nearest(joined, vectors, k=3), expected)
    plain = vectors.drop(columns="chains").set_axis(range(64), axis=1)
    pd.testing.assert_frame_equal(airrvec.nearest(plain, vectors, k=3), expected)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (vectors_of(None, 3).assign(dim_02="a"), "the column 'dim_02' of the queries holds no numbers"),
        (vectors_of(None, 3).set_axis(range(8), axis=1).assign(x="a"), "the column 'x' of the queries holds"),
        (vectors_of(None, 3).set_axis(range(8), axis=1).assign(x=True), "the column 'x' of the queries hold"),
        (vectors_of(None, 3).drop(columns="dim_03"), "the queries have no column 'dim_03', but later ones"),
        (vectors_of("x", 3).drop(columns="dim_08"), "the queries have 7 dimensions, which is not that of"),
        (pd.DataFrame({"chains": ["beta"]}), "the queries have no columns with vectors"),
        (np.ones((3, 8)), "the queries are a ndarray, not a DataFrame"),
        (1e20 * vectors_of("x", 3), "a vector holds a number that is not below 1e\\+12"),
    ],
)
def test_what_are_no_vectors_is_refused(frame, message):
    with pytest.raises(InputError, match=message):
        airrvec.nearest(frame, vectors_of("x", 4), k=1)


@pytest.mark.parametrize("name", ["k", "threads"])
@pytest.mark.parametrize("number", [0, -1, 2.5, "3"])
def test_impossible_numbers_are_refused(name, number):
    with pytest.raises(InputError, match=f"{name} is {number!r}, and must be a whole number from 1 on"):
        airrvec.nearest(vectors_of("x", 3), vectors_of("x", 4), **{name: number})


@pytest.mark.parametrize("k", [4, 5, 10**18])
def test_more_neighbours_than_references_are_all(k):
    hits = airrvec.nearest(vectors_of("x", 3), vectors_of("x", 4, seed=2), k=k)
    assert hits["rank"].tolist() == [1, 2, 3, 4] * 3


@pytest.mark.parametrize(("n", "m"), [(0, 4), (3, 0), (0, 0)])
def test_no_rows_are_no_hits(n, m):
    hits = airrvec.nearest(vectors_of("x", n), vectors_of("x", m), k=2)
    assert list(hits) == ["query", "reference", "rank", "distance"]
    assert hits.empty


def test_vectors_name_their_model(tmp_path):
    frame = airrvec.read(LABELLED).head(20)
    for model in ("sceptr", "sceptr_tiny"):
        vectors = airrvec.embed(frame, model=model)
        assert VectorModel.read(vectors.attrs["airrvec"]) == weights.load(model).vector_model
        assert vectors.attrs["airrvec"]["dimensions"] == vectors.filter(like="dim_").shape[1]
        # What pandas and Parquet keep.
        vectors.to_parquet(tmp_path / "v.parquet")
        for kept in (vectors.dropna(), vectors.iloc[:5], pd.read_parquet(tmp_path / "v.parquet")):
            assert kept.attrs == vectors.attrs
