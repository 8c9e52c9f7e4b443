"""Vectors of chosen receptors, read in batches."""

from airrvec.core import tables, vectors
from airrvec.core.errors import InputError

import numpy as np
import pyarrow as pa
import pytest


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
