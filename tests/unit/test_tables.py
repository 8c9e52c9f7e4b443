"""Parquet tables: whole or not at all, with the types that the schema says."""

import csv
import json
import os
import stat
import subprocess
import sys

from airrvec.core import delimited, schema, tables
from airrvec.figures import style

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from inputs import DATA, ROOT, normalised

import memory


class Interrupted(Exception):
    pass


def some_rows(n: int = 3) -> pa.Table:
    return pa.table({"a": pa.array(range(n)), "b": [f"row {number}" for number in range(n)]})


def compressions(path) -> set[str]:
    groups = pq.read_metadata(path)
    return {
        groups.row_group(group).column(column).compression
        for group in range(groups.num_row_groups)
        for column in range(groups.num_columns)
    }


def test_written_appears_under_its_name_when_the_block_ends(tmp_path):
    path = tmp_path / "new folder" / "x.txt"
    with tables.atomic_path(path) as temporary:
        temporary.write_text("complete")
        assert temporary.parent == path.parent  # so that renaming is atomic
        assert not path.exists()
    assert path.read_text() == "complete"
    assert [file.name for file in path.parent.iterdir()] == ["x.txt"]


def write_for_the_owner_alone(path):
    """As safetensors and fsspec do, which rename a temporary file of their own."""
    with tables.atomic_path(path) as temporary:
        os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY, 0o600))


def write_weights(path):
    with tables.atomic_path(path) as temporary:
        safetensors.numpy.save_file({"a": np.zeros(3, np.float32)}, temporary)


def write_an_experiment(path):
    with tables.atomic_path(path) as temporary:
        anndata.AnnData(np.zeros((2, 2))).write_h5ad(temporary)


def write_a_figure(path):
    style.save(plt.figure(), path.with_suffix(""))


@pytest.mark.parametrize(("umask", "permissions"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("x.parquet", lambda path: tables.write(some_rows(), path)),
        ("x.tsv", lambda path: tables.write_tsv(some_rows(), path)),
        ("x.json", lambda path: tables.write_text("{}", path)),
        ("x.safetensors", write_weights),
        ("x.bin", write_for_the_owner_alone),
        ("x.h5ad", write_an_experiment),
        ("x.png", write_a_figure),
    ],
)
def test_who_may_read_a_file_is_what_the_umask_says(name, write, umask, permissions, tmp_path):
    """Whatever permissions the library that writes it gives, and those of the file before."""
    path = tmp_path / name
    path.touch(0o640)
    before = os.umask(umask)
    try:
        write(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == permissions


def write_half_a_table(path):
    with tables.writer(path, some_rows().schema) as parquet:
        parquet.write_table(some_rows())
        raise Interrupted


def write_half_a_text(path):
    with tables.atomic_path(path) as temporary:
        temporary.write_text("half")
        raise Interrupted


@pytest.mark.parametrize("write_half", [write_half_a_table, write_half_a_text])
@pytest.mark.parametrize("before", [None, "the former content"])
def test_an_exception_leaves_neither_file_nor_temporary(write_half, before, tmp_path):
    path = tmp_path / "x.parquet"
    if before:
        path.write_text(before)
    with pytest.raises(Interrupted):
        write_half(path)
    assert [file.read_text() for file in tmp_path.iterdir()] == ([before] if before else [])


def test_a_table_comes_back_as_it_was(tmp_path):
    tables.write(some_rows(), tmp_path / "x.parquet")
    assert tables.read(tmp_path / "x.parquet").equals(some_rows())
    assert tables.read(tmp_path / "x.parquet", ["b"]).column_names == ["b"]


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path):
    path = tmp_path / "sample=1" / "x.parquet"
    tables.write(some_rows(), path)
    assert tables.read(path).column_names == ["a", "b"]


def test_a_process_that_read_tables_ends_without_being_aborted(tmp_path):
    """Through Python's file handles one in ten was, at its very end."""
    tables.write(pa.table({"a": list(range(1000))}), tmp_path / "x.parquet")
    program = "import sys; from airrvec.core import tables; [tables.read(sys.argv[1]) for _ in range(3)]"
    ended = [
        subprocess.run([sys.executable, "-c", program, tmp_path / "x.parquet"], cwd=ROOT / "bin")
        for _ in range(20)
    ]
    assert [process.returncode for process in ended] == [0] * 20


def test_a_table_in_parts_is_one_table(tmp_path):
    with tables.writer(tmp_path / "x.parquet", some_rows().schema, {"model": "m"}) as parquet:
        parquet.write_table(some_rows(6).slice(0, 2))
        parquet.write_table(some_rows(6).slice(2))
    assert tables.read(tmp_path / "x.parquet").replace_schema_metadata(None).equals(some_rows(6))
    assert tables.metadata(tmp_path / "x.parquet") == {"model": "m"}


def test_json_has_null_where_a_number_is_missing(tmp_path):
    value = {"a": [1.5, float("nan"), {"b": np.float64("inf")}], "c": (2, None, "NaN", "\ud800")}
    tables.write_json(value, tmp_path / "x.json")

    def refused(word):
        raise AssertionError(word)

    found = json.loads((tmp_path / "x.json").read_text(), parse_constant=refused)
    assert found == {"a": [1.5, None, {"b": None}], "c": [2, None, "NaN", "\ud800"]}


def test_compression_is_zstd(tmp_path):
    table = pa.table({"a": ["the same"] * 10_000, "b": np.arange(10_000, dtype=np.float32)})
    tables.write(table, tmp_path / "x.parquet")
    with tables.writer(tmp_path / "y.parquet", table.schema) as parquet:
        parquet.write_table(table)
    assert compressions(tmp_path / "x.parquet") == compressions(tmp_path / "y.parquet") == {"ZSTD"}


def test_metadata_are_ours_alone_and_never_those_of_pandas(tmp_path):
    from_pandas = pa.Table.from_pandas(pd.DataFrame({"a": [1, 2]}, index=["x", "y"]), preserve_index=False)
    assert b"pandas" in from_pandas.schema.metadata
    tables.write(from_pandas, tmp_path / "x.parquet")
    tables.write(from_pandas, tmp_path / "y.parquet", {"model": "m", "é": "ü"})
    with tables.writer(tmp_path / "z.parquet", from_pandas.schema) as parquet:
        parquet.write_table(from_pandas)
    found = [tables.metadata(tmp_path / f"{name}.parquet") for name in "xyz"]
    assert found == [{}, {"model": "m", "é": "ü"}, {}]
    assert tables.arrow_schema(tmp_path / "y.parquet") == pa.schema([("a", pa.int64())])
    assert pd.read_parquet(tmp_path / "x.parquet").index.tolist() == [0, 1]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.[ct]sv")), ids=lambda path: path.name)
def test_types_are_those_of_the_schema(path, tmp_path):
    result = normalised(path, metadata={"tissue": None})
    expected = {
        "receptors": schema.RECEPTORS,
        "cells": schema.CELLS.append(pa.field("tissue", pa.string())),
        "rejects": schema.REJECTS,
    }
    for name, columns in expected.items():
        tables.write(getattr(result, name), tmp_path / name)
        assert tables.arrow_schema(tmp_path / name) == columns
        assert tables.metadata(tmp_path / name) == {}


def test_columns_are_plain_strings_numbers_and_flags():
    plain = (pa.string(), pa.int64(), pa.int32(), pa.float64(), pa.float32(), pa.bool_())
    every = [value for value in vars(schema).values() if isinstance(value, pa.Schema)]
    assert len(every) >= 6
    for table in [*every, schema.embeddings(64)]:
        assert {field.type for field in table} <= set(plain)
        assert all(name.isidentifier() and name == name.lower() for name in table.names)


def test_tsv_has_empty_cells_for_nulls_and_quotes_where_needed(tmp_path):
    tables.write_tsv(pa.table({"a": [1, None], "b": ["x\ty", 'µ "z"']}), tmp_path / "x.tsv")
    content = (tmp_path / "x.tsv").read_text(encoding="utf-8")
    assert list(csv.reader(content.splitlines(), delimiter="\t")) == [
        ["a", "b"],
        ["1", "x\\ty"],  # a tab becomes two characters (tests/unit/test_spreadsheet.py)
        ["", 'µ "z"'],
    ]


@given(
    st.lists(st.floats() | st.sampled_from([0.0, -0.0, 1e-4, 1e6, 999999.9, 3.0]) | st.none(), min_size=1),
    st.lists(st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"])) | st.none(), min_size=1),
)
def test_text_is_what_pandas_writes(numbers, words):
    n = min(len(numbers), len(words))
    table = pa.table(
        {
            "number": pa.array(numbers[:n], pa.float64()),
            "float32": pa.array(numbers[:n], pa.float64()).cast(pa.float32(), safe=False),
            'a "word", b': pa.array(words[:n], pa.string()),
            "flag": pa.array([None, True, False] * n)[:n],
            "count": pa.array([None, 2**40, -7] * n)[:n],
            "category": pa.array(words[:n], pa.string()).dictionary_encode(),
            "large": pa.array([f"{word}\nx" for word in words[:n]], pa.large_string()),
        }
    )
    for part in (table, table.select([2]), table.slice(n)):
        frame = part.to_pandas(types_mapper=pd.ArrowDtype)
        text = delimited.header(part, ",") + delimited.lines(part, ",")
        assert text.decode() == frame.to_csv(index=False, lineterminator="\n")


def test_tsv_is_the_same_in_one_batch_and_in_many(tmp_path, monkeypatch):
    table = pa.table({"a": [1, None, 3], "b": ["x\ty", None, 'µ "z"'], "c": [0.1, 1e-9, None]})
    tables.write_tsv(table, tmp_path / "one.tsv")
    monkeypatch.setattr(tables, "BATCH", 2)
    tables.write_tsv(table, tmp_path / "many.tsv")
    assert (tmp_path / "many.tsv").read_bytes() == (tmp_path / "one.tsv").read_bytes()
    tables.write_tsv(table.slice(0, 0), tmp_path / "none.tsv")
    assert (tmp_path / "none.tsv").read_text() == "a\tb\tc\n"


def test_more_rows_than_a_spreadsheet_opens_are_parquet_only(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "SPREADSHEET", 2)
    tables.write_both(pa.table({"a": [1, 2]}), tmp_path / "x")
    assert (tmp_path / "x.tsv").read_text() == "a\n1\n2\n"
    tables.write_both(pa.table({"a": [1, 2, 3]}), tmp_path / "x")
    assert tables.read(tmp_path / "x.parquet")["a"].to_pylist() == [1, 2, 3]
    assert not (tmp_path / "x.tsv").exists()


# --- Embeddings.


def test_embeddings_are_float32_and_null_where_there_is_no_vector(tmp_path):
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    vectors[1] = np.nan
    tables.write(
        tables.embeddings_table(pa.chunked_array([["x", "y", "z"]]), vectors), tmp_path / "e.parquet"
    )
    table = tables.read(tmp_path / "e.parquet")
    assert table.schema == pa.schema(
        [("receptor_id", pa.string()), ("dim_01", pa.float32()), ("dim_02", pa.float32())]
    )
    assert table.to_pylist() == [
        {"receptor_id": "x", "dim_01": 0.0, "dim_02": 1.0},
        {"receptor_id": "y", "dim_01": None, "dim_02": None},
        {"receptor_id": "z", "dim_01": 4.0, "dim_02": 5.0},
    ]


def test_embeddings_keep_every_bit():
    vectors = np.random.default_rng(1).standard_normal((50, 64)).astype(np.float32)
    table = tables.embeddings_table(pa.chunked_array([[str(n) for n in range(50)]]), vectors)
    assert table.column_names == ["receptor_id", *schema.dimensions(64)]
    assert table.column_names[1:3] + table.column_names[-1:] == ["dim_01", "dim_02", "dim_64"]
    found = np.stack([table[name].to_numpy() for name in schema.dimensions(64)], axis=1)
    np.testing.assert_array_equal(found, vectors)


@pytest.fixture(scope="module")
def large_file(tmp_path_factory):
    """152 MB in forty parts."""
    path = tmp_path_factory.mktemp("large") / "vectors.parquet"
    rng, names = np.random.default_rng(0), schema.dimensions(16)
    part = pa.table({name: rng.random(40_000, np.float32) for name in names})
    with pq.ParquetWriter(path, part.schema) as writer:
        for _ in range(40):
            writer.write_table(part)
    return path


def test_a_file_read_in_batches_is_not_held_in_memory(large_file):
    """Arrow's buffer held all that had been read: 2.9 GB for the map of ten million receptors."""
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() - before for _ in tables.read_batches(large_file, 10_000)]
    assert len(held) == 160
    assert max(held) < large_file.stat().st_size / 4


def test_rows_that_a_filter_passes_by_are_not_held_in_memory(large_file):
    with memory.added() as added:
        found = tables.read_filtered(large_file, pc.field("dim_01") < 1e-3)
        assert added() < large_file.stat().st_size / 2**20 / 2
    column = pq.read_table(large_file, columns=["dim_01"])["dim_01"].to_numpy()
    assert len(found) == (column < 1e-3).sum() > 0
