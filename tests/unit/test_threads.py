"""
A task uses the threads that it was given, whatever was imported before it could say so.

Matrix products take one: with more, sums are in another order.
"""

import json
import os
import subprocess
import sys

from airrvec.core import tables
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pytest
from inputs import ROOT

PROGRAM = """
import json, runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
import numba, pyarrow
from threadpoolctl import threadpool_info
pools = [[pool["user_api"], pool["filepath"], pool["num_threads"]] for pool in threadpool_info()]
print(json.dumps({"pools": pools, "numba": numba.get_num_threads(), "pyarrow": pyarrow.cpu_count()}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("threads")
    receptors = tables.distinct_receptors(synthesise(80, seed=3))
    tables.write(receptors, path / "receptors.parquet")
    vectors = np.random.default_rng(1).normal(size=(len(receptors), 8)).astype(np.float32)
    table = tables.embeddings_table(receptors["receptor_id"], vectors)
    tables.write(table, path / "embeddings.parquet", {"model": "sceptr", "weights_sha256": "0123"})
    n = len(receptors)
    cells = {
        "sample_id": ["a"] * n,
        **{name: receptors[name] for name in ("receptor_id", "clonotype_id", "species")},
        "epitope": pa.nulls(n, pa.string()),
        "abundance": pa.array([1] * n, pa.int64()),
        "count_unit": ["cells"] * n,
    }
    tables.write(pa.table(cells), path / "cells.parquet")
    return path


@pytest.mark.parametrize("script", ["embed_receptors", "place_receptors"])
@pytest.mark.parametrize("cpus", [1, 2])
def test_every_pool_has_as_many_threads_as_the_task(folder, script, cpus):
    options = {
        "embed_receptors": ["receptors.parquet", "--out", "vectors.parquet"],
        "place_receptors": ["--embeddings", "embeddings.parquet"],
    }[script]
    command = [sys.executable, "-c", PROGRAM, ROOT / f"bin/{script}.py", *options, "--threads", str(cpus)]
    # Threads that numpy starts with when it is imported, before the script can say how many.
    others = {"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "3", "PYTHONPATH": str(ROOT / "bin")}
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **others}, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    pools = found.pop("pools")
    assert any(api == "blas" and "numpy" in path for api, path, _ in pools)
    assert {path: n for api, path, n in pools if n != (1 if api == "blas" else cpus)} == {}
    assert found == {"numba": min(cpus, os.cpu_count()), "pyarrow": cpus}


PRODUCTS = """
import sys, hashlib, numpy as np
from airrvec.core import runtime
runtime.limit_threads(int(sys.argv[1]))
from airrvec.stats import significance
rng = np.random.default_rng(1)
samples = [rng.normal(size=(300, 64)) for _ in range(4)]
pooled = np.concatenate(samples)
chosen = significance.divisions(len(pooled), 600, 200, rng)
kernel = significance.gaussian(pooled, pooled, 8.0)
found = [significance.mmd(kernel, chosen), significance.mean_kernels(samples, 8.0)]
found.append(significance.frechet_distance(*samples[:2]))
print(hashlib.sha256(b"".join(np.asarray(values).tobytes() for values in found)).hexdigest())
"""


def test_matrix_products_have_the_same_bits_with_any_number_of_threads():
    """On samples of many receptors: small products take one thread in any case."""
    digests = set()
    for threads in (1, 2, 3):
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "bin"), "OPENBLAS_NUM_THREADS": str(threads)}
        command = [sys.executable, "-c", PRODUCTS, str(threads)]
        digests.add(subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout)
    assert len(digests) == 1


IMPORTED = """\
import sys
from airrvec.search import neighbours
from numba.core import entrypoints
print(entrypoints._already_initialized, "awkward" in sys.modules)
"""


@pytest.mark.parametrize("is_task", [True, False])
def test_numba_is_extended_before_threads_compile(is_task, tmp_path):
    if is_task:
        (tmp_path / ".command.sh").touch()
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "bin")}
    command = [sys.executable, "-c", IMPORTED]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"True {not is_task}\n"


EXTENDED = """\
import sys
import numpy as np
from airrvec.search import neighbours
rows = np.eye(600, 64, dtype=np.float32)  # many are rounded, before threads search
neighbours.nearest(rows, rows, 3)
print("awkward" in sys.modules)
"""


@pytest.mark.parametrize("is_task", [True, False])
def test_a_task_imports_nothing_that_other_packages_add_to_numba(is_task, tmp_path):
    if is_task:
        (tmp_path / ".command.sh").touch()
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "bin")}
    command = [sys.executable, "-c", EXTENDED]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == f"{not is_task}\n"


def test_a_file_of_the_user_has_what_other_packages_add_to_numba(tmp_path):
    (tmp_path / ".command.sh").touch()
    (tmp_path / "own.py").touch()
    code = "from airrvec.core.own_code import OwnCode\nOwnCode(Path('own.py'), '').module()\n"
    command = [sys.executable, "-c", f"from pathlib import Path\n{code}{EXTENDED}"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "bin")}
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
