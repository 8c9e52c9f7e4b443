"""The script that merges the embeddings of shards."""

import json
from itertools import permutations

from airrvec.core import schema, tables

import numpy as np
import pyarrow as pa
import pytest


def error_of(script, capsys, name: str, *arguments) -> str:
    """The line that a script ends with, status 1."""
    with pytest.raises(SystemExit) as stop:
        script(name, *arguments)
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert error.startswith("ERROR: ")
    assert error.count("\n") == 1
    return error.removeprefix("ERROR: ").strip()


def files(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


METADATA = {"model": "tiny", "weights_sha256": "abc", "airrvec_version": "0.1.0"}
N_RECEPTORS, SHARD_SIZE = 10, 4


def vectors(numbers) -> np.ndarray:
    """Vectors that are their receptor's number, and none for receptor 5."""
    values = np.array([[number, number + 0.5] for number in numbers], np.float32)
    values[np.array(numbers) == 5] = np.nan
    return values


def write_shard(path, numbers, metadata=METADATA):
    ids = pa.chunked_array([[f"r{number:02d}" for number in numbers]])
    tables.write(tables.embeddings_table(ids, vectors(numbers)), path, metadata)
    return path


@pytest.fixture
def shards(tmp_path):
    """The receptors of a run, and the embeddings of its three shards."""
    receptors = pa.table({"receptor_id": [f"r{number:02d}" for number in range(N_RECEPTORS)]})
    tables.write(receptors, tmp_path / "receptors.parquet")
    # Names in another order than the receptors'.
    starts = zip((0, 4, 8), ("c", "a", "b"), strict=True)
    return [
        write_shard(tmp_path / name, range(start, min(start + SHARD_SIZE, N_RECEPTORS)))
        for start, name in starts
    ]


def merge_arguments(tmp_path, paths) -> list:
    out = tmp_path / "out"
    return [
        *paths,
        "--receptors",
        tmp_path / "receptors.parquet",
        "--out",
        out / "e.parquet",
        "--qc",
        out / "qc.json",
    ]


def test_merged_embeddings_are_those_of_the_receptors_whatever_the_order_of_files(script, shards, tmp_path):
    contents = set()
    for order in permutations(shards):
        script("merge_embeddings", *merge_arguments(tmp_path, order))
        contents.add(((tmp_path / "out/e.parquet").read_bytes(), (tmp_path / "out/qc.json").read_bytes()))
    assert len(contents) == 1
    merged = tables.read(tmp_path / "out/e.parquet").replace_schema_metadata(None)
    assert merged.schema == schema.embeddings(2)
    assert merged["receptor_id"].to_pylist() == [f"r{number:02d}" for number in range(N_RECEPTORS)]
    found = np.stack([merged["dim_01"].to_numpy(), merged["dim_02"].to_numpy()], axis=1)
    np.testing.assert_array_equal(found, vectors(range(N_RECEPTORS)))
    assert tables.metadata(tmp_path / "out/e.parquet") == METADATA
    assert json.loads((tmp_path / "out/qc.json").read_text()) == {
        **METADATA,
        "dimensions": 2,
        "receptors": 10,
        "without_vector": 1,
    }
    assert files(tmp_path / "out") == ["e.parquet", "qc.json"]


NOT_THOSE = "the embedded receptors are not those of the run."


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ((0, 1), "2 receptors of the run were not embedded."),
        ((0,), "6 receptors of the run were not embedded."),
        ((0, 2), NOT_THOSE),
        ((1, 2), NOT_THOSE),
        ((0, 0, 1, 2), NOT_THOSE),
        ((0, 1, 2, 2), NOT_THOSE),
    ],
    ids=["no last", "first alone", "no middle", "no first", "first twice", "last twice"],
)
def test_missing_and_repeated_shards_are_errors(chosen, message, script, shards, capsys, tmp_path):
    arguments = merge_arguments(tmp_path, [shards[index] for index in chosen])
    assert error_of(script, capsys, "merge_embeddings", *arguments) == message
    assert files(tmp_path / "out") == []


def test_a_shard_of_another_run_is_an_error(script, shards, capsys, tmp_path):
    write_shard(shards[1], [4, 5, 6, 77])
    assert error_of(script, capsys, "merge_embeddings", *merge_arguments(tmp_path, shards)) == NOT_THOSE
    assert files(tmp_path / "out") == []


@pytest.mark.parametrize("field", METADATA)
def test_shards_of_different_models_or_versions_are_an_error(field, script, shards, capsys, tmp_path):
    write_shard(shards[2], [8, 9], {**METADATA, field: "another"})
    message = error_of(script, capsys, "merge_embeddings", *merge_arguments(tmp_path, shards))
    if field == "weights_sha256":
        assert message == (
            "b: its vectors are of the model 'tiny' (2 dimensions, weights another), and those of c of 'tiny'"
            " (2 dimensions, weights abc): vectors of two models cannot be compared."
        )
    else:
        values = ", ".join(sorted([METADATA[field], "another"]))
        assert message == f"shards were embedded with different {field}: {values}."
    assert not (tmp_path / "out").exists()


def test_shards_of_different_widths_are_an_error(script, shards, capsys, tmp_path):
    ids = pa.chunked_array([["r08", "r09"]])
    tables.write(tables.embeddings_table(ids, np.ones((2, 3), np.float32)), shards[2], METADATA)
    message = error_of(script, capsys, "merge_embeddings", *merge_arguments(tmp_path, shards))
    assert "(3 dimensions, weights abc), and those of c of 'tiny' (2 dimensions, weights abc)" in message
    assert not (tmp_path / "out").exists()


def test_shards_of_a_cpu_and_a_gpu_are_merged_and_both_are_named(script, shards, tmp_path):
    # A mixed cluster, where some nodes have a GPU.
    for number, (path, device) in enumerate(zip(shards, ("gpu", "cpu", "gpu"), strict=True)):
        numbers = range(4 * number, min(4 * number + SHARD_SIZE, N_RECEPTORS))
        write_shard(path, numbers, {**METADATA, "precision": "fp32", "device": device})
    script("merge_embeddings", *merge_arguments(tmp_path, shards))
    expected = {**METADATA, "precision": "fp32", "device": "cpu,gpu"}
    assert tables.metadata(tmp_path / "out/e.parquet") == expected
    found = json.loads((tmp_path / "out/qc.json").read_text())
    assert {name: found[name] for name in expected} == expected
    merged = tables.read(tmp_path / "out/e.parquet")
    np.testing.assert_array_equal(merged["dim_01"].to_numpy(), vectors(range(N_RECEPTORS))[:, 0])
