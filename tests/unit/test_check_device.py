"""What is said where there is no GPU, and where there is one that torch can or cannot use."""

import importlib
from types import SimpleNamespace

import pytest
import torch
from inputs import ROOT

needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "bin")
    return importlib.import_module("check_device")


def torch_with(cuda="13.0", devices=0, computes=True):
    """A torch as the script sees it on another machine."""

    def ones(*_, device):
        if not computes:
            raise RuntimeError("CUDA error: no kernel image is available.\nCompile with TORCH_USE_CUDA_DSA")
        return torch.ones(1)

    return SimpleNamespace(
        __version__="2.15",
        version=SimpleNamespace(cuda=cuda),
        cuda=SimpleNamespace(device_count=lambda: devices),
        ones=ones,
    )


@needs_no_gpu
def test_no_gpu_is_an_error_in_one_line(script, capsys, tmp_path):
    with pytest.raises(SystemExit) as ending:
        script.main(["--versions", str(tmp_path / "versions.yml")])
    assert ending.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "ERROR: a GPU was asked for, but torch sees no CUDA device in this task. See that the task runs with"
        " -profile gpu, on a node with a GPU and NVIDIA's driver; or give --device auto, to compute on"
        " what there is.\n"
    )
    assert not (tmp_path / "versions.yml").exists()


@needs_no_gpu
def test_with_auto_it_is_a_warning(script, capsys, tmp_path):
    script.main(["--device", "auto", "--versions", str(tmp_path / "versions.yml")])
    assert capsys.readouterr().out == (
        "WARNING: a GPU was asked for, but torch sees no CUDA device in this task; training and embedding"
        " compute on what there is.\n"
    )
    assert f'torch: "{torch.__version__.split("+")[0]}' in (tmp_path / "versions.yml").read_text()


@pytest.mark.parametrize(
    ("seen", "problem"),
    [
        (torch_with(devices=2), None),
        (torch_with(devices=1), "torch sees 1 of the 2 CUDA devices asked for in this task"),
        (torch_with(cuda=None), "torch 2.15 is a build for CPUs alone"),
        (torch_with(devices=2, computes=False), "cannot use it: CUDA error: no kernel image is available"),
    ],
    ids=["two", "one", "none can be", "of no use"],
)
def test_problem_of_two_gpus(script, seen, problem):
    said = script.problem_of(seen, 2)
    assert said == problem or said.endswith(problem)


@pytest.mark.parametrize(
    ("executor", "container", "words", "other"),
    [
        ("local", "", "NVIDIA's driver", "partition"),
        ("slurm", "", "in a partition with GPUs (process.queue)", "toolkit"),
        ("slurm", "apptainer", "--gres in process.clusterOptions", "toolkit"),
        ("local", "docker", "NVIDIA's container toolkit", "partition"),
    ],
)
def test_advice_fits_the_place(script, executor, container, words, other):
    said = script.remedy(executor, container)
    assert words in said
    assert other not in said
