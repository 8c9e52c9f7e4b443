"""Vectors carry their model; scripts refuse to compare vectors of two models, and name both."""

import json
import re
import shutil

from airrvec.annotation import annotator_file
from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.core.vectors import ATTRIBUTE, VectorModel, read_description, read_model
from airrvec.model import weights
from airrvec.synthetic.synthesis import synthesise

import clone_tables
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from inputs import ROOT, labelled_cells

# Of the width of `sceptr`, and of another.
OTHERS = ("sceptr_cdr3_only", "sceptr_tiny")


def sentence(model: str, other: str) -> re.Pattern:
    """What an error says of two models."""
    told = {name: weights.load(name).vector_model for name in (model, other)}
    return re.compile(
        f"{re.escape(str(told[model]))}, and those of .* of {re.escape(str(told[other]))}:"
        r" vectors of two models cannot be compared\."
    )


def embeddings(model: VectorModel, n: int = 4) -> tuple[pa.Table, dict]:
    """A table of ``n`` random vectors, and its metadata."""
    vectors = np.random.default_rng(1).normal(size=(n, model.dimensions)).astype(np.float32)
    ids = pa.chunked_array([[f"r{number}" for number in range(n)]])
    return tables.embeddings_table(ids, vectors), model.metadata()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Receptors of a small run with the vectors of three models, cells, and background receptors."""
    folder = tmp_path_factory.mktemp("models")
    receptors = tables.distinct_receptors(synthesise(60, seed=1))
    receptors = receptors.append_column("n_samples", pa.array([1] * len(receptors), pa.int32()))
    tables.write(receptors, folder / "receptors.parquet")
    tables.write(synthesise(700, seed=2), folder / "background.parquet")
    # 24 labelled receptors, two of each of twelve studies.
    epitopes = ["one"] * 24 + [None] * 36
    studies = [f"s{row // 2}" if row < 24 else None for row in range(60)]
    tables.write(labelled_cells(receptors, epitopes, studies), folder / "a.cells.parquet")
    clone_tables.count(folder, [folder / "a.cells.parquet"], folder / "receptors.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bin")
        import embed_receptors

        for model in ("sceptr", *OTHERS):
            options = ("--model", model, "--out", folder / f"{model}.parquet", "--threads", "1")
            embed_receptors.main([str(word) for word in (folder / "receptors.parquet", *options)])
    return folder


def cells(folder, name: str) -> tuple:
    """Option of clustering, which reads labels of cells."""
    return ("--cells", folder / "a.cells.parquet") if name == "cluster_receptors" else ()


def options(folder, vectors: str, model: str, outdir) -> list:
    return [
        *("--clones", folder / "clones", "--receptors", folder / "receptors.parquet"),
        *("--embeddings", folder / f"{vectors}.parquet", "--model", model, "--outdir", outdir),
        *("--threads", 1),
    ]


def test_a_file_of_vectors_names_name_checksum_and_width(folder):
    for name in ("sceptr", *OTHERS):
        path, model = folder / f"{name}.parquet", weights.load(name).vector_model
        assert read_model(path) == model
        expected = {"model": name, "weights_sha256": model.weights_sha256}
        metadata = tables.metadata(path)
        assert {key: metadata[key] for key in (*expected, "dimensions")} == {
            **expected,
            "dimensions": str(model.dimensions),
        }
        described = {**expected, "dimensions": model.dimensions}
        found = pd.read_parquet(path)
        assert found.attrs == {ATTRIBUTE: described}
        assert VectorModel.read(found.attrs[ATTRIBUTE]) == model
        kept = {"airrvec_version", "device", "precision"}
        assert read_description(path) == {**described, **{key: metadata[key] for key in kept}}


@pytest.mark.parametrize("described", [None, "sceptr", {}, {"model": "x"}, {"model": "x", "dimensions": "y"}])
def test_what_describes_no_model_is_none(described):
    assert VectorModel.read(described) is None


def test_a_file_without_a_model_is_refused(tmp_path):
    table, _ = embeddings(VectorModel("x", "0123", 3))
    tables.write(table, tmp_path / "e.parquet")
    with pytest.raises(InputError, match=r"e\.parquet: its vectors do not name their model"):
        read_model(tmp_path / "e.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: it holds no vectors"):
        read_model(tmp_path / "empty")


@pytest.mark.parametrize("other", [VectorModel("y", "4567", 3), VectorModel("x", "0123", 4)])
def test_partitions_of_two_models_are_refused(other, tmp_path):
    for name, model in (("0", VectorModel("x", "0123", 3)), ("1", other)):
        table, metadata = embeddings(model)
        tables.write(table, tmp_path / f"e/{name}.parquet", metadata)
    told = rf"1\.parquet: its vectors are of the model '{other.name}' .*, and those of 0\.parquet of 'x' "
    with pytest.raises(InputError, match=told):
        read_model(tmp_path / "e")


def test_the_same_weights_under_another_name_are_the_same_model(tmp_path):
    for name in ("x", "y"):
        table, metadata = embeddings(VectorModel(name, "0123", 3))
        tables.write(table, tmp_path / f"e/{name}.parquet", metadata)
    assert read_model(tmp_path / "e").name == "x"


def refused(script, capsys, name: str, *words) -> str:
    with pytest.raises(SystemExit) as stop:
        script(name, *words)
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert [line for line in error.splitlines() if line.startswith("ERROR: ")] == error.splitlines()[-1:]
    return error


@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("name", ["cluster_receptors", "compare_samples", "embed_background"])
def test_a_background_of_another_model_is_refused(name, other, folder, script, capsys, tmp_path):
    background = ("--background", folder / "background.parquet")
    words = (*options(folder, other, "sceptr", tmp_path / "out"), *background, *cells(folder, name))
    error = refused(script, capsys, name, *words)
    assert sentence(other, "sceptr").search(error)
    assert error.startswith(f"ERROR: {other}.parquet: ")
    assert "Give the model of the vectors with --model" in error
    assert list(tmp_path.rglob("*.parquet")) == []


@pytest.mark.parametrize("other", OTHERS)
def test_groups_of_another_model_are_refused(other, folder, script, capsys, tmp_path):
    background = ("--background", folder / "background.parquet")
    script("embed_background", *options(folder, "sceptr", "sceptr", tmp_path / "groups"), *background)
    about = json.loads((tmp_path / "groups/about.json").read_text())
    # The reason why there is no radius is in the file; another model is no such reason.
    assert "2000 are needed" in about["without"]["homosapiens"]
    assert VectorModel.read(about["vectors"]) == weights.load("sceptr").vector_model
    words = (*options(folder, other, other, tmp_path / "out"), "--groups", tmp_path / "groups")
    for name in ("cluster_receptors", "compare_samples"):
        assert sentence(other, "sceptr").search(refused(script, capsys, name, *words, *cells(folder, name)))
    del about["vectors"]
    (tmp_path / "groups/about.json").write_text(json.dumps(about))
    error = refused(script, capsys, "compare_samples", *words)
    assert "the vectors of the background do not name their model" in error


@pytest.mark.parametrize("other", OTHERS)
def test_a_map_with_another_model_is_refused(other, folder, script, capsys, tmp_path):
    words = ("--cells", folder / "a.cells.parquet", *options(folder, "sceptr", other, tmp_path)[2:])
    script("place_receptors", "--embeddings", folder / "sceptr.parquet", "--outdir", tmp_path / "places")
    words = (*words, "--page", ROOT / "assets/report", "--places", tmp_path / "places/map.parquet")
    assert sentence("sceptr", other).search(refused(script, capsys, "map_receptors", *words))


@pytest.fixture(scope="module")
def reference(folder, tmp_path_factory):
    """References with vectors of `sceptr`."""
    outdir = tmp_path_factory.mktemp("reference")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "bin")
        import calibrate_annotation

        words = (
            *("--cells", folder / "a.cells.parquet", "--receptors", folder / "receptors.parquet"),
            *("--background", folder / "background.parquet", "--background-receptors", "1000"),
            *("--annotation-references", "2", "--outdir", outdir, "--threads", "1"),
        )
        calibrate_annotation.main([str(word) for word in words])
    assert (outdir / "reference/homosapiens_paired.npz").is_file()
    return outdir / "reference"


def annotation(folder, reference, outdir, *words) -> list:
    return [
        *("--sample", "a", "--cells", folder / "a.cells.parquet"),
        *("--receptors", folder / "receptors.parquet", "--reference", reference),
        *("--outdir", outdir, *words),
    ]


@pytest.mark.parametrize("other", OTHERS)
def test_references_of_another_model_are_refused(other, folder, reference, script, capsys, tmp_path):
    words = annotation(folder, reference, tmp_path, "--model", other)
    error = refused(script, capsys, "annotate_receptors", *words)
    assert sentence("sceptr", other).search(error)
    assert "Give the model that made the reference with --model" in error


@pytest.mark.parametrize("other", OTHERS)
def test_vectors_of_another_model_than_the_references_are_refused(
    other, folder, reference, script, capsys, tmp_path
):
    words = annotation(folder, reference, tmp_path, "--embeddings", folder / f"{other}.parquet")
    error = refused(script, capsys, "annotate_receptors", *words)
    assert sentence(other, "sceptr").search(error)
    assert not (tmp_path / "a.parquet").exists()


def test_a_reference_that_names_no_model_is_refused(folder, reference, script, capsys, tmp_path):
    shutil.copy(reference / annotator_file.REASONS, tmp_path)
    for path in reference.glob("*.npz"):
        with np.load(path) as arrays:
            kept = {name: arrays[name] for name in arrays.files if not name.startswith("model_")}
        np.savez(tmp_path / path.name, **kept)
    error = refused(script, capsys, "annotate_receptors", *annotation(folder, tmp_path, tmp_path))
    assert "its vectors do not name their model. Make the reference again" in error


def test_the_schema_of_vectors_is_that_of_their_width(folder):
    for name in ("sceptr", *OTHERS):
        width = weights.load(name).vector_model.dimensions
        assert tables.arrow_schema(folder / f"{name}.parquet") == schema.embeddings(width)
