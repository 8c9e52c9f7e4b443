"""No instruction is used that the processor at hand lacks, whatever the environment says."""

import ast
import os
import subprocess
import sys
from contextlib import contextmanager

import airrvec
from airrvec.core import devices, environment

import pytest
from inputs import ROOT

OLD = {"avx": True, "avx2": True, "avx512f": False, "avx512bf16": False}
NEW = {"avx": True, "avx2": True, "avx512f": True, "avx512bf16": True}


@pytest.mark.parametrize("name", ["SkylakeX", "skylakex", "Cooperlake", "SapphireRapids"])
def test_kernels_that_the_processor_lacks_are_replaced(name):
    environ = {"OPENBLAS_CORETYPE": name, "HOME": "/"}
    with (
        pytest.warns(UserWarning, match="OPENBLAS_CORETYPE names instructions .*avx512f"),
        not_imported("numpy"),
    ):
        environment.drop_foreign_kernels(environ, lambda: OLD)
    assert environ == {"HOME": "/"}
    environ = {"OPENBLAS_CORETYPE": name}
    environment.drop_foreign_kernels(environ, lambda: NEW)
    assert environ == {"OPENBLAS_CORETYPE": name}


def test_kernels_that_the_processor_has_stay():
    for environ in (
        {},
        {"OPENBLAS_CORETYPE": ""},
        {"OPENBLAS_CORETYPE": "Haswell"},
        {"OPENBLAS_CORETYPE": "Katmai"},
    ):
        expected = dict(environ)
        environment.drop_foreign_kernels(environ, lambda: OLD)
        assert environ == expected


def test_features_of_another_processor_are_not_compiled_for():
    environ = {"NUMBA_CPU_FEATURES": "+avx2,+avx512f,-avx512bf16"}
    with pytest.warns(UserWarning, match="NUMBA_CPU_FEATURES"), not_imported("numba"):
        environment.drop_foreign_kernels(environ, lambda: OLD)
    assert not environ


def test_a_library_that_has_read_the_variable_is_an_error():
    import numpy  # noqa: F401

    with pytest.raises(ImportError, match="numpy has read it: unset OPENBLAS_CORETYPE"):
        environment.drop_foreign_kernels({"OPENBLAS_CORETYPE": "SkylakeX"}, lambda: OLD)


def test_bfloat16_needs_what_numba_compiles_for(monkeypatch):
    for features, name, expected in (
        ("+avx2,-avx512f,-avx512bf16", None, False),
        (None, "generic", False),
        (None, "znver5", True),
        (None, None, True),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(environment, "host_features", lambda: NEW)
            for variable, value in (("NUMBA_CPU_FEATURES", features), ("NUMBA_CPU_NAME", name)):
                patch.delenv(variable, raising=False)
                if value is not None:
                    patch.setenv(variable, value)
            assert devices.has_bf16() is expected


def test_numba_compiles_for_what_airrvec_believes():
    """numba's own choice, in processes with its variables: 16 lanes of AVX-512, or not."""
    program = (
        "from airrvec.core import environment; from numba.core import codegen; from numba import config\n"
        "listed = codegen.JITCPUCodegen('x')._customize_tm_features()\n"
        "names = {word[1:] for word in listed.split(',') if word.startswith('+')}\n"
        "assert names == environment.compiled_features(), names ^ environment.compiled_features()"
    )
    for variables in (
        {},
        {"NUMBA_CPU_NAME": "generic"},
        {"NUMBA_CPU_NAME": "haswell"},
        {"NUMBA_CPU_FEATURES": "+sse2"},
    ):
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "bin"), **variables}
        subprocess.run([sys.executable, "-c", program], env=environ, check=True)


def test_no_code_believes_a_file_about_the_processor():
    sources = [path for path in (ROOT / "bin").rglob("*.py") if "/proc/cpuinfo" in path.read_text()]
    assert sources == []


SCRIPTS = sorted((ROOT / "bin").glob("*.py"))


def test_a_wrong_kernel_is_replaced_before_a_library_reads_it(tmp_path):
    """In processes of a script that imports numpy itself, and of one whose packages do."""
    (tmp_path / "masked.py").write_text(
        "import llvmlite.binding as binding, runpy, sys\n"
        f"binding.get_host_cpu_features = lambda: {OLD!r}\n"
        "sys.argv = [sys.argv[1], '--version']\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    environ = {**os.environ, "OPENBLAS_CORETYPE": "SkylakeX", "PYTHONPATH": str(ROOT / "bin")}
    for path in (ROOT / "bin/collect_receptors.py", ROOT / "bin/check_samples.py"):
        command = [sys.executable, tmp_path / "masked.py", path]
        done = subprocess.run(command, env=environ, capture_output=True, text=True)
        assert "OPENBLAS_CORETYPE names instructions" in done.stderr, path
        assert (done.returncode, done.stdout) == (0, f"airrvec {airrvec.__version__}\n"), (path, done.stderr)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_import_airrvec_before_libraries(path):
    imports = [
        node for node in ast.parse(path.read_text()).body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    modules = [node.module if isinstance(node, ast.ImportFrom) else node.names[0].name for node in imports]
    packages = [module.split(".")[0] for module in modules]
    assert next(name for name in packages if name not in sys.stdlib_module_names) == "airrvec"


@contextmanager
def not_imported(library: str):
    """Make a library count as not imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(sys.modules, library, raising=False)
        yield
