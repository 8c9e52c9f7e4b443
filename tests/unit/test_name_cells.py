"""Names of the cells of several samples; those of one sample are in test_export_airr.py."""

from pathlib import Path

import pyarrow as pa
import pytest

import name_cells
from airrvec.core import tables


def named(folder: Path, **samples: list[str | None]) -> list[str]:
    """The names of the cells of some samples, given by their cell_id."""
    paths = []
    for sample, ids in samples.items():
        columns = {"sample_id": [sample] * len(ids), "cell_id": ids}
        paths.append(folder / f"{sample}.cells.parquet")
        tables.write(
            pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()}), paths[-1]
        )
    name_cells.main([*map(str, paths), "--out", str(folder / "names.parquet")])
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
