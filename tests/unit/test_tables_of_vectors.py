"""Tables of vectors: every bit, in batches, and large files that are never held in memory."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import memory
from airrvec.core import schema, tables, vectors
from airrvec.core.errors import InputError


def test_vectors_are_read_in_batches_in_the_order_of_the_ids(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BATCH", 2)
    made = np.arange(14, dtype=np.float32).reshape(7, 2)
    made[3] = np.nan
    ids = pa.chunked_array([list("abcdefg")])
    for name, part in (("e_0", slice(0, 3)), ("e_1", slice(3, 7))):
        table = tables.embeddings_table(ids[part.start : part.stop], made[part])
        tables.write(table, tmp_path / "e" / f"{name}.parquet")
    wanted = pa.chunked_array([["g", "a"], ["d", "g", "c"]])
    np.testing.assert_array_equal(vectors.read_vectors(tmp_path / "e", wanted), made[[6, 0, 3, 6, 2]])
    with pytest.raises(InputError, match="1 of 2 cells have a receptor that is missing here"):
        vectors.read_vectors(tmp_path / "e", pa.chunked_array([["a", "x"]]))


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
