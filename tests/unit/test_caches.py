"""Scripts run where neither the project nor the home can be written, without a word about it."""

import ast
import os
import re
import shutil
import subprocess
import sys

import airrvec
from airrvec.core import environment, tables

import numpy as np
import pytest
from inputs import ROOT

NUMBA = r"numba\.(?:njit|vectorize|guvectorize|jit)\(|@compiled"
DECORATORS = environment.LIBRARY / "core/compiled.py"


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """A copy of bin whose bytecode folders are files: these tests may run as root, who may write anywhere."""
    folder = tmp_path_factory.mktemp("project") / "bin"
    shutil.copytree(ROOT / "bin", folder, ignore=shutil.ignore_patterns("__pycache__"))
    for package in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        (package / "__pycache__").touch()
    return folder


def run(command: list, cwd, **env: str) -> subprocess.CompletedProcess:
    """A run whose home is no folder; caches have no place of their own."""
    places = ("XDG_", "NUMBA_CACHE", "MPL")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(places)}
    home = {"HOME": "/dev/null/home", "TMPDIR": str(cwd / "tmp")}
    (cwd / "tmp").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=cwd, env={**kept, **home, **env}, capture_output=True, text=True,
    )  # fmt: skip


def test_the_list_of_compiled_packages_is_whole():
    found = {
        str(path.parent.relative_to(environment.LIBRARY))
        for path in environment.LIBRARY.rglob("*.py")
        if path != DECORATORS and re.search(NUMBA, path.read_text())
    }
    assert found == set(environment.COMPILED)


def test_no_generator_is_cached_by_itself():
    """numba cannot compile the caller of a generator that another process has cached meanwhile."""
    cached = [
        f"{path}: {node.name}"
        for path in environment.LIBRARY.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef) and any(isinstance(part, ast.Yield) for part in ast.walk(node))
        for decorator in node.decorator_list
        if re.search(r"compiled|_fast|cache=True", ast.unparse(decorator))
    ]
    assert cached == []


def test_the_kernels_of_a_run_are_compiled_beforehand(tmp_path):
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import kernels; kernels.main()\n"
        "from numba.core.dispatcher import Dispatcher\n"
        "for name, module in [*sys.modules.items()]:\n"
        "    for function in vars(module).values() if name.startswith('airrvec.') else ():\n"
        "        if isinstance(function, Dispatcher) and function.nopython_signatures:\n"
        "            print(function.__name__)\n"
    )
    command = [sys.executable, "-c", code, ROOT / "containers"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    searches = {"collect", "narrow", "measure", "_sort_rows", "gathered", "own_products", "join_blocks"}
    assert {*searches, "_add_rows", "embed_tokens", "linear", "attention", "finish_layer", "_descend"} <= {
        *done.stdout.split()
    }


# In a folder with Nextflow's script of a task, and in any other.
@pytest.mark.parametrize("task", [True, False])
def test_a_script_embeds_and_draws(read_only, tmp_path, task):
    if task:
        (tmp_path / ".command.sh").touch()
    script = tmp_path / "use.py"
    script.write_text(
        "import sys\nsys.path.insert(0, sys.argv[1])\n"
        "import airrvec, os\n"
        "from airrvec.figures import style\n"
        "from airrvec.encoders import tcrdist\n"
        "from airrvec.model.cpu import kernels\n"
        "from airrvec.search import neighbours, radius_search, store\n"
        "import numpy as np\n"
        "from pathlib import Path\n"
        "figure, _ = style.panels(1, 2, 2)\n"
        "style.save(figure, 'figure')\n"
        "print(os.environ['NUMBA_CACHE_DIR'], os.environ['MPLCONFIGDIR'])\n"
    )
    done = run([script, read_only], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    folders = done.stdout.split()
    assert (tmp_path / "figure.png").stat().st_size > 1000
    if task:
        assert folders == [str(tmp_path / ".cache/numba"), str(tmp_path / ".cache/matplotlib")]
        assert (tmp_path / ".cache/matplotlib").is_dir()
    else:
        assert all(folder.startswith(str(tmp_path / "tmp/airrvec-caches-")) for folder in folders)
        assert not any((tmp_path / "tmp").iterdir())  # removed at the end
        assert not (tmp_path / ".cache").exists()


def test_vectors_are_those_of_any_other_place(read_only, tmp_path):
    (tmp_path / ".command.sh").touch()
    table, out = ROOT / "assets/test/pbmc_b.csv", tmp_path / "embedded.parquet"
    done = run([read_only / "normalise_receptors.py", table, "--sample", "b"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert not re.search("cache|error|Traceback", done.stderr, re.IGNORECASE)
    receptors = tmp_path / "b.receptors_0000.parquet"
    done = run(
        [read_only / "embed_receptors.py", receptors, "--device", "cpu", "--out", out], tmp_path
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not re.search("warn|error|cache|Traceback", done.stderr, re.IGNORECASE)
    assert any((tmp_path / ".cache/numba").rglob("*.nbc"))  # compiled code
    expected = airrvec.embed(tables.read(receptors).to_pandas()).filter(like="dim").to_numpy()
    vectors = tables.read(out).to_pandas().filter(like="dim").to_numpy()
    assert np.array_equal(vectors, expected)


# Folders that can be written stay in use: compiled code is kept for the next task.
def test_caches_that_can_be_written_are_left_alone(tmp_path, monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "MPLCONFIGDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for kind in ("CACHE", "CONFIG"):
        monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
    environment.set_folders()
    assert not {"NUMBA_CACHE_DIR", "MPLCONFIGDIR"} & os.environ.keys()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("own", "kept"),
    [("{tmp}/own", True), ("/dev/null/own", False), ("", False)],
    ids=["good", "bad", "empty"],
)
def test_a_folder_of_ones_own_is_kept_if_it_can_be_written(own, kept, read_only, tmp_path):
    own = own.replace("{tmp}", str(tmp_path))
    code = "import sys; sys.path.insert(0, sys.argv[1]); import airrvec, os; print(os.environ[sys.argv[2]])"
    done = run(["-c", code, read_only, "NUMBA_CACHE_DIR"], tmp_path, NUMBA_CACHE_DIR=own, MPLCONFIGDIR=own)
    assert done.returncode == 0, done.stderr
    assert (done.stdout.strip() == own) == kept
