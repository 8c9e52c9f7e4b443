"""Names, clone sizes, calls and clusters of the cells of one or several samples."""

from collections import Counter
from pathlib import Path

from airrvec.core import schema, tables

import pyarrow as pa
import pytest

import describe_cells


def named(folder: Path, **samples: list[str | None]) -> list[str]:
    """The names of the cells of some samples, given by their cell_id."""
    paths = []
    for sample, ids in samples.items():
        paths.append(folder / f"{sample}.cells.parquet")
        rows = [{"sample_id": sample, "cell_id": name, "clonotype_id": "c"} for name in ids]
        tables.write(pa.Table.from_pylist(rows, schema.CELLS), paths[-1])
    describe_cells.main([*map(str, paths), "--out", str(folder / "names.parquet")])
    return tables.read(folder / "names.parquet")["name"].to_pylist()


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "b", "a"], ["a", "a_2", "b", "a_3"]),
        # A name that the input gives is never another cell's.
        (["a", "a", "a_2"], ["a", "a__2", "a_2"]),
        (["a", "a", "a_2", "a__2"], ["a", "a___2", "a_2", "a__2"]),
        ([None, "2", None], ["1", "2", "3"]),
        ([None, "1"], ["1_2", "1"]),
        ([], []),
    ],
)
def test_names_are_unique_within_a_sample(ids, expected, tmp_path):
    assert named(tmp_path, s=ids) == [f"s_{name}" for name in expected]


def test_names_are_unique_across_samples_and_those_of_each_alone(tmp_path):
    """The suffix in one sample does not depend on the names in another."""
    samples = {"a": ["x", "x", "x_2", "b_c"], "empty": [], "a_b": ["c"], "z": ["y", "y", "細胞"]}
    names = ["a_x", "a_x__2", "a_x_2", "a_b_c", "a_b_c_2", "z_y", "z_y_2", "z_細胞"]
    assert named(tmp_path, **samples) == names
    assert named(tmp_path, z=samples["z"]) == names[-3:]


def write_cells(folder: Path, sample: str, receptors: str, numbers: list | None = None) -> Path:
    """
    Cells of a sample: a letter is a receptor, and its capital another receptor of the same clonotype.

    ``numbers``: their abundances, one each if not given.
    """
    own = {"sample_id": sample, "count_unit": "cells"}
    rows = [
        {**own, "receptor_id": r, "clonotype_id": r.lower(), "abundance": number}
        for r, number in zip(receptors, numbers or [1] * len(receptors), strict=True)
    ]
    tables.write(pa.Table.from_pylist(rows, schema.CELLS), folder / f"{sample}.cells.parquet")
    return folder / f"{sample}.cells.parquet"


def write_clones(folder: Path, clones: dict[str, list[tuple]], sizes: dict[str, int] | None = None) -> None:
    """Clones of the cells of some samples, by row; ``sizes`` if not one for each cell."""
    members = [
        {"sample_id": sample, "cell_row": row, "clone_id": clone}
        for sample in clones
        for row, clone in clones[sample]
    ]
    numbers = Counter((row["sample_id"], row["clone_id"]) for row in members)
    counts = [
        {"sample_id": sample, "clone_id": clone, "n_cells": sizes[clone] if sizes else n}
        for (sample, clone), n in numbers.items()
    ]
    for name, rows, columns in (
        ("members", members, schema.CLONE_MEMBERS),
        ("counts", counts, schema.CLONE_COUNTS),
    ):
        tables.write(pa.Table.from_pylist(rows, columns), folder / f"clones/{name}.parquet")


def write_calls(folder: Path, sample: str, receptors: str, calls: dict[str, str]) -> Path:
    """Calls of a sample: `calls` names the epitope of called receptors."""
    rows = []
    for receptor in receptors:
        epitope = calls.get(receptor)
        details = {"epitope": epitope, "antigen_species": "CMV", "mhc_a": "HLA-A*02"} if epitope else {}
        known = {"best_epitope": "E0", "probability": 0.25, "fdr": 0.05, "exact_epitope": receptor.upper()}
        word = "called" if epitope else "no call"
        rows.append({"receptor_id": receptor, "call": word, **known, **details})
    (folder / "annotation").mkdir(exist_ok=True)
    tables.write(pa.Table.from_pylist(rows, schema.ANNOTATION), folder / f"annotation/{sample}.parquet")
    return folder / f"annotation/{sample}.parquet"


def described(folder: Path, *arguments) -> list[dict]:
    describe_cells.main([*map(str, arguments), "--out", str(folder / "out.parquet")])
    table = tables.read(folder / "out.parquet")
    expected = [name for name in schema.CELL_DESCRIPTION.names if name in table.column_names]
    assert table.column_names == expected
    assert all(table.schema.field(name).type == schema.CELL_DESCRIPTION.field(name).type for name in expected)
    return table.to_pylist()


def test_clone_sizes_are_of_a_sample(tmp_path):
    paths = [write_cells(tmp_path, "a", "xXyx"), write_cells(tmp_path, "b", "xz")]
    write_clones(tmp_path, {"a": [(1, "x"), (2, "x"), (4, "x"), (3, "y")], "b": [(1, "x"), (2, "z")]})
    rows = described(tmp_path, *paths, "--clones", tmp_path / "clones")
    assert [row["clone_size"] for row in rows] == [3, 3, 1, 3, 1, 1]
    assert [row["clone_id"] for row in rows] == ["x", "x", "y", "x", "x", "z"]
    assert set(rows[0]) == {"name", "barcode", "clone_id", "clone_size"}
    assert set(described(tmp_path, *paths)[0]) == {"name", "barcode"}


def test_calls_are_those_of_the_cells(tmp_path):
    cells = [write_cells(tmp_path, sample, receptors) for sample, receptors in (("a", "xyx"), ("b", "z"))]
    calls = write_calls(tmp_path, "a", "xyx", {"x": "E1"})
    rows = described(tmp_path, *cells, "--annotation", calls)
    found = [tuple(row[name] for name in schema.CELL_CALLS.names) for row in rows]
    called = ("called", "E1", "CMV", "HLA-A*02", 0.25, 0.05, "X")
    # What belongs to the best epitope of a cell that is not called is no call.
    assert found == [called, ("no call", *[None] * 5, "Y"), called, (None,) * 7]

    # So that objects of samples and of labelled receptors have the same columns.
    labelled = described(tmp_path, cells[1], "--annotated")
    assert [row[name] for row in labelled for name in schema.CELL_CALLS.names] == [None] * 7


def test_calls_of_other_cells_are_refused(tmp_path, capsys):
    calls = write_calls(tmp_path, "a", "yx", {})
    with pytest.raises(SystemExit):
        described(tmp_path, write_cells(tmp_path, "a", "xy"), "--annotation", calls)
    message = "ERROR: a.parquet: the calls are not those of the cells, row by row.\n"
    assert capsys.readouterr().err == message


def test_clusters_are_those_of_the_receptors(tmp_path):
    rows = [
        {"receptor_id": receptor, "cluster_id": cluster}
        for receptor, cluster in (("x", "k1"), ("y", "k1"), ("z", None), ("w", "k2"), ("v", "k1"))
    ]
    tables.write(pa.Table.from_pylist(rows, schema.CLUSTER_MEMBERS), tmp_path / "members.parquet")
    rows = described(tmp_path, write_cells(tmp_path, "a", "xzyqw"), "--members", tmp_path / "members.parquet")
    found = [(row["cluster_id"], row["cluster_size"]) for row in rows]
    assert found == [("k1", 3), (None, None), ("k1", 3), (None, None), ("k2", 1)]


def test_a_cell_without_a_count_has_no_clone(tmp_path):
    path = write_cells(tmp_path, "s", "abAc", [120, 20, 3, None])
    write_clones(tmp_path, {"s": [(1, "a"), (2, "b"), (3, "a")]}, {"a": 123, "b": 20})
    rows = described(tmp_path, path, "--clones", tmp_path / "clones")
    assert [cell["clone_size"] for cell in rows] == [123, 20, 123, None]
    assert [cell["clone_id"] for cell in rows] == ["a", "b", "a", None]
