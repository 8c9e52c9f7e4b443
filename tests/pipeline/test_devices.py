"""The profile `gpu`: what tasks ask for, and what is said where there is none."""

import os
import re
import shutil
from pathlib import Path

from airrvec.core.version import __version__

import pytest
import torch
from pipeline_runs import ROOT, run_pipeline
from test_learning import write_presets

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
CHAIN = ("--pretrain", "tiny_own.json", "--synthetic_receptors", "300", "--input", "samples.csv")


@pytest.fixture
def folder(tmp_path):
    write_presets(tmp_path)
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT}/assets/test/pbmc_b.csv\n")
    return tmp_path


@needs_no_gpu
def test_without_a_gpu_nothing_is_trained(folder):
    run = run_pipeline(folder, "-profile", "gpu", *CHAIN)
    assert run.status == 1
    assert run.output.count("ERROR: a GPU was asked for, but torch sees no CUDA device in this task.") == 1
    assert "or give --device auto, to compute on what there is." in run.output
    assert "CHECK_DEVICE" in run.processes
    assert not {"SYNTHESISE_RECEPTORS", "PRETRAIN"} & run.processes


@needs_no_gpu
def test_auto_warns_and_trains_on_the_cpu(folder):
    run = run_pipeline(folder, "-profile", "gpu", "--device", "auto", "--skip_map", *CHAIN)
    assert run.status == 0, run.output
    warning = "WARN: a GPU was asked for, but torch sees no CUDA device in this task; training and embedding"
    assert run.output.count(warning) == 1
    assert (run.results / "models/tiny_own/model.safetensors").exists()
    assert "CHECK_DEVICE" in (run.results / "pipeline_info/software_versions.yml").read_text()


def test_who_asks_for_no_gpu_gets_none_looked_for(folder):
    """But training looks for its packages. Where checkpoints lie is no reason to train again."""
    args = ("-profile", "gpu", "--device", "cpu", *CHAIN, "-stub")
    run = run_pipeline(folder, *args)
    assert run.status == 0, run.output
    assert {"PRETRAIN", "CHECK_DEVICE"} <= run.processes
    assert "GPU" not in run.output
    again = run_pipeline(folder, *args, "-resume", "--checkpoint_dir", str(folder / "other"))
    assert {task["status"] for task in again.tasks} == {"CACHED"}


@pytest.mark.parametrize(
    ("engine", "option"),
    [
        ("docker", "--gpus all"),
        ("apptainer", "--nv"),
    ],
)
def test_containers_of_training_tasks_alone_see_gpus(folder, engine, option):
    """The engine is one that writes its command down, and runs here what should run in the image."""
    commands, programs, images = folder / "commands.txt", folder / "programs", folder / "images"
    programs.mkdir()
    images.mkdir()
    core, learn = (f"{images}/{name}:{__version__}" for name in ("airrvec", "airrvec-learn"))
    for image in (core, learn):
        Path(image).touch()
    (programs / engine).write_text(
        f"""#!/bin/bash
echo "$(tr "\\n" " " <<< "$*")" >> {commands}
while [[ $# -gt 0 && $1 != {images}/airrvec* ]]; do shift; done
shift && exec "$@"
"""
    )
    (programs / engine).chmod(0o755)
    run = run_pipeline(
        folder, "-profile", f"gpu,{engine}", "--registry", str(images), *CHAIN, "-stub",
        PATH=f"{programs}{os.pathsep}{os.environ['PATH']}",
    )  # fmt: skip
    assert run.status == 0, run.output
    started = [line for line in commands.read_text().splitlines() if f"{images}/" in line]
    tasks = {True: set(), False: set()}  # with a GPU, without
    for path in (folder / "work").glob("*/*/.command.run"):
        (command,) = [line for line in started if path.parent.name in line]
        assert f" {learn if option in command else core} " in command
        tasks[option in command].add(re.search(r"### name: '(?:\S*:)?(\w+)", path.read_text())[1])
    assert tasks[True] == {"CHECK_DEVICE", "PRETRAIN", "EMBED_RECEPTORS"}
    assert {"CHECK_SAMPLES", "NORMALISE_RECEPTORS", "REPORT"} < tasks[False]
    assert not tasks[True] & tasks[False]


def test_slurm_where_there_is_none(folder):
    """All programs of this machine but sbatch."""
    programs = folder / "programs"
    programs.mkdir()
    for place in ("/usr/bin", "/bin", "/usr/local/bin"):
        for name in os.listdir(place):
            if name != "sbatch" and not (programs / name).is_symlink():
                (programs / name).symlink_to(f"{place}/{name}")
    if not (programs / "java").exists():
        (programs / "java").symlink_to(shutil.which("java"))
    run = run_pipeline(folder, "-profile", "slurm", *CHAIN, PATH=str(programs))
    assert run.status == 1
    assert (
        run.output.count("ERROR ~ there is no sbatch on this machine: start the run where jobs can be") == 1
    )
