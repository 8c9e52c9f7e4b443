"""A table written in parts is the same bytes as one written at once."""

from airrvec.core import table_parts, tables

import numpy as np
import pyarrow as pa
import pytest


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng, n = np.random.default_rng(0), 200_000
    words = pa.array(["a\tb", 'say "x"', "é", None]).take(pa.array(rng.integers(0, 4, n)))
    numbers = pa.array(np.where(rng.random(n) < 0.1, np.nan, rng.random(n)), from_pandas=True)
    counts = pa.array(rng.integers(0, 9, n), mask=rng.random(n) < 0.1)
    ids = pa.array([f"{number:08x}" for number in rng.permutation(n)])
    return pa.table(
        {"id": ids, "word": words, "number": numbers, "float": rng.random(n, np.float32), "n": counts}
    )


@pytest.mark.parametrize("n", [0, 1, 65_536, 200_000])
def test_parts_are_the_whole(table, tmp_path, n):
    whole = table.slice(0, n)
    tables.write_both(whole, tmp_path / "whole")
    with table_parts.writer_of_both(tmp_path / "parts", whole.schema) as append:
        for start in range(0, max(n, 1), tables.BATCH):
            append(whole.slice(start, tables.BATCH))
    for kind in ("parquet", "tsv"):
        assert (tmp_path / f"parts.{kind}").read_bytes() == (tmp_path / f"whole.{kind}").read_bytes()


def test_more_rows_than_a_spreadsheet_opens_are_parquet_only(table, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "SPREADSHEET", 100)
    for n, kinds in ((100, {"parquet", "tsv"}), (101, {"parquet"})):
        with table_parts.writer_of_both(tmp_path / "parts", table.schema) as append:
            append(table.slice(0, n))
        assert {path.suffix[1:] for path in tmp_path.iterdir()} == kinds
    assert tables.read(tmp_path / "parts.parquet").equals(table.slice(0, 101))


def test_groups_are_written_before_the_end(table, tmp_path, monkeypatch):
    monkeypatch.setattr(table_parts, "ROW_GROUP", 30_000)
    with table_parts.writer_of_both(tmp_path / "parts", table.schema) as append:
        for start in range(0, len(table), 40_000):
            append(table.slice(start, 40_000))
    read = tables.read(tmp_path / "parts.parquet")
    assert read.equals(table)
    sizes = [len(batch) for batch in tables.read_batches(tmp_path / "parts.parquet", len(table))]
    assert sum(sizes) == len(table)


def test_nothing_is_left_of_a_table_that_fails(table, tmp_path):
    def fail():
        with table_parts.writer_of_both(tmp_path / "parts", table.schema) as append:
            append(table.slice(0, 10))
            raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        fail()
    assert [*tmp_path.iterdir()] == []
