"""Files replaced in place, in a folder whose own size and time stay the same: `-resume` sees them."""

import os
import shutil

from airrvec.core import tables
from airrvec.encoders.sceptr import Sceptr
from airrvec.model import weights

import numpy as np
import pandas as pd
import pytest
from pipeline_runs import ROOT, run_pipeline

PBMC = ROOT / "assets/test/pbmc_b.csv"
DASH = ROOT / "assets/demo/dash_human.csv"


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "samples.csv"
    path.write_text(f"sample,path\nb,{PBMC}\n")
    return path


def replace(path, content: bytes) -> None:
    """Other content in the same file, in a folder that shows nothing of it."""
    before = path.parent.stat()
    assert path.read_bytes() != content
    path.write_bytes(content)
    os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.parent.stat().st_mtime_ns == before.st_mtime_ns


def statuses(run) -> dict[str, str]:
    assert run.status == 0, run.output
    return {task["name"].split(":")[-1]: task["status"] for task in run.tasks}


def test_vectors_are_those_of_the_weights_that_are_there_now(tmp_path, sheet):
    shutil.copytree(weights.PUBLISHED / "sceptr", tmp_path / "own")
    model = ("--input", sheet, "--model", "own", "--skip_map", "-resume")
    first_run = run_pipeline(tmp_path, *model)
    assert first_run.status == 0, first_run.output
    first = pd.read_parquet(first_run.results / "embeddings/sceptr.parquet").iloc[:, 1:].to_numpy()

    before = (tmp_path / "own/model.safetensors").stat()
    content = (weights.PUBLISHED / "sceptr_shuffled_data/model.safetensors").read_bytes()
    assert len(content) == before.st_size
    replace(tmp_path / "own/model.safetensors", content)
    # Even the file has the time that it had, as after `cp --preserve`.
    os.utime(tmp_path / "own/model.safetensors", ns=(before.st_atime_ns, before.st_mtime_ns))

    after = run_pipeline(tmp_path, *model)
    ran = statuses(after)
    assert {name for name, status in ran.items() if status == "CACHED"} == {
        "CHECK_SAMPLES",
        "NORMALISE_RECEPTORS (b)",
        "COLLECT_RECEPTORS (receptors)",
        "COUNT_CLONES",
        "DESCRIBE_CLONES",
        "DESCRIBE_SAMPLES",
    }
    second = pd.read_parquet(after.results / "embeddings/sceptr.parquet").iloc[:, 1:].to_numpy()
    receptors = tables.read(after.results / "receptors/receptors.parquet")
    expected = Sceptr("sceptr_shuffled_data").embed(receptors)
    np.testing.assert_allclose(second, expected, atol=1e-4)
    assert np.nanmax(np.abs(first - second)) > 0.1


def test_weights_encoders_and_background_run_what_reads_them_and_nothing_else(tmp_path, sheet):
    hub = tmp_path / "hub/models--facebook--esm2/snapshots/1"
    blobs = tmp_path / "hub/models--facebook--esm2/blobs"
    background = tmp_path / "background"
    for folder in (hub, blobs, background):
        folder.mkdir(parents=True)
    (blobs / "abc").write_text("weights")
    (hub / "model.safetensors").symlink_to("../../blobs/abc")
    (background / "receptors_0000.parquet").write_text("receptors")
    (tmp_path / "mine.py").write_text("TITLE = 'mine'\n")
    args = ("--input", sheet, "--labelled", DASH, "--encoders", "cdr3_levenshtein,esm2,mine.py")
    args += ("--hub_cache", "hub", "--background", "background", "--cluster", "-stub", "-resume")
    assert set(statuses(run_pipeline(tmp_path, *args)).values()) == {"COMPLETED"}

    own = (tmp_path / "mine.py").stat()
    for path, content in (
        (blobs / "abc", b"WEIGHTS"),
        (background / "receptors_0000.parquet", b"RECEPTORS"),
        (tmp_path / "mine.py", b"TITLE = 'MINE'\n"),
    ):
        replace(path, content)
    os.utime(tmp_path / "mine.py", ns=(own.st_atime_ns, own.st_mtime_ns))
    ran = statuses(run_pipeline(tmp_path, *args))
    assert {name for name, status in ran.items() if status == "COMPLETED"} == {
        "BENCHMARK_FEWSHOT (esm2)",
        "BENCHMARK_FEWSHOT (mine)",
        "SUMMARISE_FEWSHOT",
        "EMBED_BACKGROUND",
        "CLUSTER_RECEPTORS",
        "DESCRIBE_CLONES",
        "MAP_RECEPTORS",
        "REPORT",
        "RENDER_REPORT",
    }


def test_the_map_shows_the_page_that_is_there_now(tmp_path, sheet, project_copy):
    args = ("--input", sheet, "-stub", "-resume")
    first = statuses(run_pipeline(tmp_path, *args, project=project_copy))
    assert first["MAP_RECEPTORS"] == "COMPLETED"
    replace(project_copy / "assets/report/map.css", b"body { color: black }\n")
    ran = statuses(run_pipeline(tmp_path, *args, project=project_copy))
    again = {name for name, status in ran.items() if status == "COMPLETED"}
    assert again == {"MAP_RECEPTORS", "REPORT", "RENDER_REPORT"}
