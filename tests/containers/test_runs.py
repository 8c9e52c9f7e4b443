"""Runs of the pipeline in its images, by docker and podman, beside a run in the locked environment."""

import json
import os
import shutil

from airrvec.core import tables
from airrvec.core.version import __version__

import numpy as np
import pandas as pd
import pytest
from engines import open_folder

TABLES = ("cells/a", "cells/b", "rejects/a", "rejects/b")
PRESET = {
    "data": "synthetic",
    "model": {"n_layers": 1, "d_model": 16, "n_heads": 2, "d_feedforward": 32},
    "schedule": {"steps": 250, "batch_size": 16, "warmup_steps": 2, "validate_every": 250},
}
ENGINES = ["docker", "podman"]


@pytest.fixture(params=ENGINES)
def engine(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def elsewhere(user):
    with open_folder() as folder:
        os.chown(folder, user.entry.pw_uid, user.entry.pw_gid)
        yield folder


@pytest.fixture(scope="session")
def runs(user, pipeline, images, request):
    """
    Runs by an engine, once: engine → run.

    By docker the profile `test`, with R's image; by podman, which takes ten seconds more for each task, the
    samples of it alone.
    """
    done = {}
    sheet = pipeline.folder / "assets/test/samplesheet.csv"
    given = {
        "docker": ("-profile", "test,docker", "--export_sce"),
        "podman": ("-profile", "podman", "--input", sheet, "--skip_map"),
    }

    def run(engine):
        if engine not in done:
            done[engine] = pipeline.run(user, f"run-{engine}", *given[engine])
            assert done[engine].status == 0, done[engine].output
        return done[engine]

    return run


def scripts(run):
    """What Nextflow had bash run, a text a task."""
    return [path.read_text() for path in run.folder.glob("work/??/*/.command.run")]


def test_every_task_runs_in_a_container(engine, runs):
    texts = scripts(runs(engine))
    assert len(texts) >= {"docker": 20, "podman": 7}[engine]
    assert all(f"{engine} run -i" in text for text in texts)


def test_tables_are_those_of_the_local_run(engine, runs, local_run):
    here, there = local_run.results, runs(engine).results
    for name in TABLES:
        assert tables.read(there / f"{name}.parquet").equals(tables.read(here / f"{name}.parquet")), name
    expected, vectors = (
        pd.read_parquet(folder / "embeddings/sceptr.parquet").set_index("receptor_id")
        for folder in (here, there)
    )
    assert len(vectors) > 100
    np.testing.assert_allclose(vectors, expected.loc[vectors.index], rtol=0, atol=1e-5)
    if engine == "podman":
        return
    for name in ("receptors/receptors", "cells/labelled"):
        assert tables.read(there / f"{name}.parquet").equals(tables.read(here / f"{name}.parquet")), name
    one, other = (tables.read(folder / "benchmark/auroc.parquet").to_pandas() for folder in (here, there))
    np.testing.assert_allclose(other["auroc"], one["auroc"], atol=1e-4)


def test_results_belong_to_the_user(engine, runs, user):
    results = runs(engine).results
    assert {path.stat().st_uid for path in (results, *results.rglob("*"))} == {user.entry.pw_uid}
    assert (results / "multiqc/multiqc_report.html").stat().st_size > 100_000


def test_r_alone_needs_another_image_than_the_core(docker, runs, images):
    run = runs("docker")
    assert sorted(path.name for path in (run.results / "r").iterdir())
    texts = scripts(run)
    exports = [text for text in texts if "EXPORT_SCE" in text or "CHECK_R" in text]
    assert all(f" {images['-r']} " in text for text in exports)
    assert all(f" {images['']} " in text for text in texts if text not in exports)
    assert any("EMBED_RECEPTORS" in text for text in texts)


def test_training_goes_on_in_another_container(user, pipeline, images, elsewhere):
    """From its checkpoint, which lies on the host, in a folder that the pipeline made."""
    folder = user.make("training-docker")
    # Neither below the run's folder nor below the pipeline's, which Nextflow mounts by itself.
    checkpoints = elsewhere / "docker"
    (folder / "tiny_own.json").write_text(json.dumps(PRESET))
    args = (
        "-profile", "docker", "--input", pipeline.folder / "assets/test/samplesheet.csv",
        "--pretrain", "tiny_own.json", "--synthetic_receptors", "300", "-c", folder / "small.config",
        "--checkpoint_dir", checkpoints,
    )  # fmt: skip
    (folder / "small.config").write_text("process.resourceLimits = [cpus: 2, memory: 6.GB]\n")
    run = pipeline.again(user, folder, *args)
    assert run.status == 0, run.output
    learning = [text for text in scripts(run) if "PRETRAIN" in text or "CHECK_DEVICE" in text]
    assert len(learning) == 2
    others = [text for text in scripts(run) if text not in learning]
    assert all(f" {images['-learn']} " in text for text in learning)
    assert others
    assert all(f" {images['']} " in text for text in others)
    checkpoint = checkpoints / "tiny_own/last.ckpt"
    before = checkpoint.stat()
    assert before.st_uid == user.entry.pw_uid
    model = (run.results / "models/tiny_own/model.safetensors").read_bytes()

    # As if the task had been lost: its checkpoint is all that is left of it.
    lost = [path.parent for path in folder.glob("work/??/*/.command.sh") if "pretrain.py" in path.read_text()]
    assert len(lost) == 1
    shutil.rmtree(lost[0])
    run = pipeline.again(user, folder, *args, "-resume")
    assert run.status == 0, run.output
    assert "Submitted process > LEARN:PRETRAIN" in run.output
    # Training from the start would have saved it again.
    assert checkpoint.stat().st_mtime_ns == before.st_mtime_ns
    assert (run.results / "models/tiny_own/model.safetensors").read_bytes() == model


@pytest.fixture(scope="session")
def no_programs(folder):
    """A folder of all programs on PATH but the engines of containers."""
    programs = folder / "programs"
    programs.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(place) if os.path.isdir(place) else []:
            if name not in ("docker", "podman", "nextflow") and not (programs / name).is_symlink():
                (programs / name).symlink_to(os.path.join(place, name))
    return programs


@pytest.mark.parametrize(
    ("profile", "args", "env", "sentence"),
    [
        ("docker", [], {"PATH": "no_programs"}, "there is no docker where the task ran: install it there"),
        (
            "docker",
            [],
            {"DOCKER_HOST": "unix:///none.sock"},
            "the daemon of docker does not run where the task",
        ),
        (
            "docker",
            ["--registry", "localhost/none"],
            {},
            f"there is no image localhost/none/airrvec:{__version__}: build it with `make images`",
        ),
    ],
    ids=["no docker", "no daemon", "no image"],
)
def test_what_is_missing_is_said_in_a_sentence(request, user, pipeline, profile, args, env, sentence):
    request.getfixturevalue(profile)
    env = {
        key: request.getfixturevalue(value) if value == "no_programs" else value for key, value in env.items()
    }
    name = request.node.callspec.id.replace(" ", "-")
    run = pipeline.run(user, name, "-profile", f"test,{profile}", "-stub", *args, **env)
    assert run.status == 1
    assert f"ERROR ~ {sentence}" in run.output, run.output[-3000:]
