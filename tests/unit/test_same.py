import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import same

TABLE = pa.table({"n": [1, 2, 3], "x": [0.5, np.nan, None]})


@pytest.fixture
def folders(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    (first / "cells").mkdir(parents=True)
    (first / "pipeline_info").mkdir()
    pq.write_table(TABLE, first / "cells" / "a.parquet")
    (first / "summary.txt").write_text("3 cells")
    (first / "report.html").write_text("made at 12")
    (first / "pipeline_info" / "times.txt").write_text("12 s")
    shutil.copytree(first, second)
    (second / "report.html").write_text("made at 13")
    (second / "pipeline_info" / "times.txt").write_text("13 s")
    return first, second


def test_runs_that_differ_in_their_times_are_the_same(folders, capsys):
    assert same.differences(*folders) == []
    with pytest.raises(SystemExit) as ended:
        same.main([*map(str, folders)])
    assert not ended.value.code
    assert capsys.readouterr().out == "the same: 2 files\n"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (TABLE.set_column(0, "n", [[1, 5, 3]]), "n differs in 1 of 3 rows; first in row 1: 2 and 5"),
        (
            TABLE.set_column(1, "x", [[0.5, None, None]]),
            "x differs in 1 of 3 rows; first in row 1: nan and None",
        ),
        (TABLE.slice(1), "3 rows and 2"),
        (TABLE.drop_columns("x"), "other columns or types: ['pyarrow.Field<x: double>'] and []"),
    ],
)
def test_what_differs_in_a_table_is_told(folders, change, told):
    pq.write_table(change, folders[1] / "cells" / "a.parquet")
    assert same.differences(*folders) == [f"cells/a.parquet: {told}"]


def test_other_files_and_missing_ones_are_told(folders):
    first, second = folders
    (second / "summary.txt").write_text("4 cells")
    (second / "more.tsv").touch()
    assert same.differences(first, second) == [f"more.tsv: only in {second}", "summary.txt: other bytes"]


def test_a_folder_without_results_is_no_run(tmp_path):
    with pytest.raises(SystemExit, match="holds no results"):
        same.main([str(tmp_path), str(tmp_path)])
