"""What holds for all unit tests."""

import importlib
import os
from pathlib import Path

import numba
import pytest
import threadpoolctl
from hypothesis import settings

# Before torch is loaded: each process of the tests has one core. Scripts set the number of their threads
# themselves.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# numba's threads start now: later they would change the number of OpenMP's for the tests that follow.
numba.get_num_threads()
threadpoolctl.threadpool_limits(1, "openmp")

# lightning sets it with the first training.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

# Each test makes its calibrations anew.
os.environ["AIRRVEC_CALIBRATIONS"] = "none"

# A test on a busy machine takes longer, and is no less right.
settings.register_profile("airrvec", deadline=None)
settings.load_profile("airrvec")


@pytest.fixture
def script(monkeypatch, tmp_path):
    """Run a script of bin/ by its name, in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda name, *arguments: importlib.import_module(name).main([*map(str, arguments)])


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> dict[str, Path]:
    """Two finished runs, for the index of runs: name → folder of results."""
    from finished_runs import write_two

    return write_two(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def made(runs, tmp_path_factory) -> Path:
    """Return an index of both runs."""
    from finished_runs import write_index

    return write_index(tmp_path_factory.mktemp("index") / "index", runs)
