"""The profile `gpu`: what tasks ask for, and what is said where there is none."""

import os
import shutil

import pytest
import torch
from conftest import ROOT, run_pipeline
from test_learning import write_presets

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
CHAIN = ("--pretrain", "tiny_own.json", "--synthetic_receptors", "300", "--input", "samples.csv")


@pytest.fixture
def folder(tmp_path):
    write_presets(tmp_path)
    (tmp_path / "samples.csv").write_text(f"sample,path\nb,{ROOT}/assets/test/pbmc_b.csv\n")
    return tmp_path


@needs_no_gpu
@pytest.mark.parametrize("args", [("-profile", "gpu"), ("--device", "gpu")], ids=["profile", "parameter"])
def test_without_a_gpu_nothing_is_trained(folder, args):
    run = run_pipeline(folder, *args, *CHAIN)
    assert run.status == 1
    assert run.output.count("ERROR: a GPU was asked for, but torch sees no CUDA device in this task.") == 1
    assert "or give --device auto, to compute on what there is." in run.output
    assert "CHECK_DEVICE" in run.processes
    assert not {"SYNTHESISE_RECEPTORS", "PRETRAIN"} & run.processes


@needs_no_gpu
def test_auto_warns_and_trains_on_the_cpu(folder):
    run = run_pipeline(folder, "-profile", "gpu", "--device", "auto", *CHAIN)
    assert run.status == 0, run.output
    warning = "WARN: a GPU was asked for, but torch sees no CUDA device in this task; training and embedding"
    assert run.output.count(warning) == 1
    assert (run.results / "models/tiny_own/model.safetensors").exists()
    assert "CHECK_DEVICE" in (run.results / "pipeline_info/software_versions.yml").read_text()


@pytest.mark.parametrize("args", [(), ("-profile", "gpu", "--device", "cpu")], ids=["plain", "cpu"])
def test_who_asks_for_no_gpu_gets_no_check(folder, args):
    run = run_pipeline(folder, *args, *CHAIN, "-stub")
    assert run.status == 0, run.output
    assert {"PRETRAIN"} <= run.processes
    assert "CHECK_DEVICE" not in run.processes


@pytest.mark.parametrize(
    ("engine", "option"),
    [
        ("docker", "--gpus all"),
        ("podman", "--device nvidia.com/gpu=all"),
        ("apptainer", "--nv"),
    ],
)
def test_containers_of_training_tasks_alone_see_gpus(folder, engine, option):
    """The engine is one that writes its command down, and runs nothing; what fails is passed over."""
    commands, programs = folder / "commands.txt", folder / "programs"
    programs.mkdir()
    # A command, which has lines, on one line.
    (programs / engine).write_text(f'#!/bin/bash\necho "$(tr "\\n" " " <<< "$*")" >> {commands}\nexit 1\n')
    (programs / engine).chmod(0o755)
    (folder / "image.sif").touch()
    run_pipeline(
        folder, "-profile", f"gpu,{engine}", "--image", str(folder / "image.sif"), *CHAIN,
        "-process.errorStrategy=ignore", PATH=f"{programs}{os.pathsep}{os.environ['PATH']}",
    )  # fmt: skip
    started = {line: option in line for line in commands.read_text().splitlines() if "command" in line}
    folders = {
        path.parent.name: "CHECK_DEVICE" in path.read_text()
        for path in (folder / "work").glob("*/*/.command.run")
    }
    assert sum(folders.values()) == 1 < len(folders)
    for name, has_gpu in folders.items():
        assert [given for line, given in started.items() if name in line] == [has_gpu]


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
