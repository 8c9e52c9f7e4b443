"""Every DataFrame that airrvec returns is kept by Parquet, AnnData and MuData, with its types."""

import warnings
from pathlib import Path

import airrvec
from airrvec.app import frames
from airrvec.input import reading

import anndata
import mudata
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from finished_runs import FLU, WORDS
from inputs import DATA, ROOT

TABLES = {
    "labelled": ROOT / "assets/demo/dash_human.csv",
    "10x": ROOT / "assets/test/pbmc_b.csv",
    "bulk": DATA / "airr_bulk.tsv",
    "vdjdb": DATA / "vdjdb_full.tsv",
}


def read(name: str) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return airrvec.read(TABLES[name])


def through_parquet(frame: pd.DataFrame, folder: Path) -> pd.DataFrame:
    frame.to_parquet(folder / "x.parquet")
    return pd.read_parquet(folder / "x.parquet")


def observations(frame: pd.DataFrame) -> anndata.AnnData:
    """A DataFrame as obs, whose names are texts."""
    return anndata.AnnData(obs=frame.set_axis([f"cell {number}" for number in range(len(frame))]))


def through_anndata(frame: pd.DataFrame, folder: Path) -> pd.DataFrame:
    observations(frame).write_h5ad(folder / "x.h5ad")
    return anndata.read_h5ad(folder / "x.h5ad").obs


def through_mudata(frame: pd.DataFrame, folder: Path) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mudata.MuData({"airr": observations(frame)}).write(folder / "x.h5mu")
        return mudata.read(folder / "x.h5mu")["airr"].obs


WAYS = {"Parquet": through_parquet, "AnnData": through_anndata, "MuData": through_mudata}


def values(column: pd.Series) -> list:
    """Values without their type; None where they are missing."""
    return [None if missing else value for value, missing in zip(column.tolist(), column.isna(), strict=True)]


def check_kept(frame: pd.DataFrame, kept: pd.DataFrame) -> None:
    """Compare what came back: the same columns and values; the same types, but AnnData's category of text."""
    assert list(kept) == list(frame)
    for name in frame:
        assert values(kept[name]) == values(frame[name]), name
        if isinstance(kept[name].dtype, pd.CategoricalDtype):
            assert frame[name].dtype in (object, "string"), name
        else:
            assert kept[name].dtype == frame[name].dtype, name


def check_saved(frame: pd.DataFrame, folder: Path) -> None:
    """
    Save a DataFrame in all ways, also what Parquet gave back, and compare what comes back.

    Parts of its rows are saved too, with columns that lose all, or all missing, of their values. AnnData
    writes ``string`` without a missing value only on request.
    """
    with anndata.settings.override(allow_write_nullable_strings=True):
        for name in frame.columns[frame.isna().any() & frame.notna().any()][-1:]:
            for part in (frame[frame[name].isna()], frame[frame[name].notna()]):
                for through in (through_anndata, through_parquet):
                    check_kept(part, through(part, folder))
    for way, through in WAYS.items():
        check_kept(frame, through(frame, folder))
        if way != "Parquet":
            check_kept(frame, through(through_parquet(frame, folder), folder))
    assert through_parquet(frame, folder).attrs == frame.attrs
    # R reads a column of nulls without a type as one of flags.
    types = pa.Table.from_pandas(frame, preserve_index=False).schema.types
    assert not len(frame) or [kind for kind in types if pa.types.is_null(kind)] == []
    for name in frame:
        assert frame[name].dtype != object or frame[name].notna().all(), name


@pytest.mark.parametrize("name", TABLES)
def test_read(name, tmp_path):
    frame = read(name)
    check_saved(frame, tmp_path)
    for column in ("duplicate_count", "umi_count", "input_rows"):
        assert str(frame[column].dtype) == ("Int64" if frame[column].isna().any() else "int64")
    # As in the pipeline's own tables.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = airrvec.app.api.normalise(
            reading.open_chains(TABLES[name]), sample_id=frame["sample_id"][0], species="homosapiens"
        )
    for column in result.cells.column_names:
        assert values(frame[column]) == result.cells[column].to_pylist()


@pytest.mark.parametrize("model", ["sceptr", "sceptr_alpha_only"])
@pytest.mark.parametrize("name", ["labelled", "bulk"])
@pytest.mark.filterwarnings("ignore:.*rows have")
def test_embed_and_nearest(name, model, tmp_path):
    """The model of α chains has no vector for a β chain of the bulk sample."""
    frame = read(name).set_index("receptor_id")
    frame = frame[frame["trb_junction_aa"].notna()]
    vectors = airrvec.embed(frame, model=model)
    assert vectors["chains"].isna().all() == (name == "bulk" and model == "sceptr_alpha_only")
    check_saved(vectors, tmp_path)
    check_saved(airrvec.nearest(vectors, vectors, k=2), tmp_path)
    data = anndata.AnnData(
        obs=frame.set_axis([f"cell {number}" for number in range(len(frame))]),
        obsm={"X_sceptr": vectors.filter(like="dim_").to_numpy()},
        uns={"airrvec": vectors.attrs["airrvec"]},
    )
    data.write_h5ad(tmp_path / "v.h5ad")
    assert anndata.read_h5ad(tmp_path / "v.h5ad").uns["airrvec"] == vectors.attrs["airrvec"]


@pytest.mark.parametrize("backend", [None, "numpy_nullable"])
@pytest.mark.parametrize("matched", ["all", "some", "none"])
def test_match_barcodes(matched, backend, tmp_path):
    """Also from a table that pandas read, whose columns without a value are objects."""
    read("10x").assign(flag=True, small=np.uint8(3), share=0.5).to_parquet(tmp_path / "cells.parquet")
    read_options = {} if backend is None else {"dtype_backend": backend}
    cells = pd.read_parquet(tmp_path / "cells.parquet", **read_options)
    cells["epitope"] = pd.Series([None] * len(cells), dtype=object)
    names = {
        "all": cells["cell_id"].tolist(),
        "some": [*cells["cell_id"][:5], "ACGTACGTACGTACGT-1"],
        "none": ["ACGTACGTACGTACGT-1", "TTTTACGTACGTACGT-1"],
    }[matched]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = airrvec.match_barcodes(names, cells)
    check_saved(found, tmp_path)
    types = found.dtypes.astype(str)
    whole = {"all": ("int64", "uint8", "bool"), "some": ("Int64", "UInt8", "boolean")}
    expected = whole.get(matched, whole["some"])
    assert (types["input_rows"], types["small"], types["flag"]) == expected
    assert types["share"] == "float64"
    assert types["match_reason"] == ("object" if matched == "none" else "string")
    # For the purpose of the function: in obs.
    data = anndata.AnnData(obs=pd.DataFrame(index=names))
    data.obs = data.obs.join(found)
    data.write_h5ad(tmp_path / "joined.h5ad")


@pytest.mark.parametrize("index", [None, [5, 6, 7], ["x", "y", "z"], pd.to_datetime([1, 2, 3])])
def test_find(index, made, tmp_path):
    frame = airrvec.read(FLU["flu_1"]).iloc[:3]
    frame = frame if index is None else frame.set_index(pd.Index(index))
    frame.iloc[1, [frame.columns.get_loc(f"{locus}_junction_aa") for locus in ("tra", "trb")]] = "?"
    with pytest.warns(UserWarning, match="queries without an answer"):
        found = airrvec.find(frame, made, k=2)
    if isinstance(frame.index, pd.DatetimeIndex):
        assert through_parquet(found, tmp_path).attrs == found.attrs  # AnnData keeps no dates
        return
    check_saved(found, tmp_path)
    assert {problem["query"] for problem in found.attrs["problems"]} == {frame.index[1]}


@pytest.mark.filterwarnings("ignore:queries without an answer")
def test_find_of_nothing(made, tmp_path):
    assert len(airrvec.find(WORDS, made, radius=0))
    none = airrvec.find("TRBV2 CASSEGTEAFFFFFFFF", made, radius=0)
    assert none.empty
    check_saved(none, tmp_path)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pd.Series(["a", "b"], dtype=object), "object"),
        (pd.Series(["a", None, np.nan, pd.NA], dtype=object), "string"),
        (pd.Series([None, np.nan, pd.NA], dtype=object), "string"),
        (pd.Series(["a", "b"], dtype="string"), "object"),
        (pd.Series(["a", None], dtype="string"), "string"),
        (pd.Series([None, None], dtype="string"), "string"),
        (pd.Series([], dtype=object), "object"),
        (pd.Series([], dtype="string"), "object"),
        (pd.Series([2**60 + 1, None], dtype="Int64"), "Int64"),
        (pd.Series([2**60 + 1, 1], dtype="Int64"), "int64"),
        (pd.Series([1, None], dtype=object), "Int64"),
        (pd.Series([1, 2], dtype="int16"), "int16"),
        (pd.Series([True, None], dtype=object), "boolean"),
        (pd.Series([True, False], dtype="boolean"), "bool"),
        (pd.Series([0.5, None], dtype="Float64"), "float64"),
        (pd.Series([0.5, None], dtype="Float32"), "float32"),
        (pd.Series([0.5, np.nan], dtype="float32"), "float32"),
        (pd.Series(["a", None], dtype="category"), "category"),
    ],
)
def test_types(given, expected, tmp_path):
    frame = frames.savable(given.to_frame("x"))
    assert str(frame["x"].dtype) == expected
    assert values(frame["x"]) == values(given)
    if expected != "category":
        check_saved(frame, tmp_path)


def test_other_objects_and_repeated_columns_stay():
    frame = pd.DataFrame([[[1], "a", "b"]], columns=["lists", "x", "x"]).assign(when=pd.Timestamp(0))
    pd.testing.assert_frame_equal(frames.savable(frame), frame)
