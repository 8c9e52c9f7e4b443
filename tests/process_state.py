"""What a test must leave as it was: environment, working folder, umask, threads of numerical libraries."""

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from airrvec.core import runtime

import pytest
from threadpoolctl import ThreadpoolController

# Of pytest, and those that polars, scikit-learn, lightning and torch set for themselves when they are loaded.
OURS = (
    *("PYTEST_CURRENT_TEST", "_RJEM_MALLOC_CONF", "KMP_INIT_AT_FORK"),
    *("PYTORCH_NVML_BASED_CUDA_CHECK", "TORCHINDUCTOR_CACHE_DIR"),
)
VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def state() -> dict[str, object]:
    """Return everything that a test could leave changed for the next one: name → value."""
    variables = {f"${name}": value for name, value in os.environ.items() if name not in OURS}
    return variables | {"working folder": _folder(), "umask": _umask()} | _threads()


def differences(before: dict[str, object], after: dict[str, object]) -> list[str]:
    """Return a line for each change; threads of a library that has been loaded meanwhile are no change."""
    names = [
        name for name in {**before, **after} if name.startswith("$") or {name} <= before.keys() & after.keys()
    ]
    return [
        f"{name}: {before.get(name)!r} → {after.get(name)!r}"
        for name in names
        if before.get(name) != after.get(name)
    ]


@contextmanager
def restored_threads() -> Iterator[None]:
    """Put back the threads of all libraries, and the variables that name their numbers."""
    variables = {name: os.environ.get(name) for name in VARIABLES}
    before = _threads()
    try:
        yield
    finally:
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        _restore_threads(before)


@contextmanager
def unchanged(what: str):
    """Undo what scripts that run in this process set for all of theirs; fail after any other change."""
    before = state()
    limit_threads = runtime.limit_threads
    with ExitStack() as scripts, pytest.MonkeyPatch.context() as patch:

        def limit(*n, **loops):
            scripts.enter_context(restored_threads())
            limit_threads(*n, **loops)

        patch.setattr(runtime, "limit_threads", limit)
        yield
    changes = differences(before, state())
    if changes:
        pytest.fail(f"{what} a changed process behind:\n" + "\n".join(changes))


def _folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "deleted"


def _umask() -> str:
    status = Path("/proc/self/status")  # os.umask would have to set it to read it
    lines = status.read_text().splitlines() if status.exists() else []
    return next((line for line in lines if line.startswith("Umask")), "")


def _threads() -> dict[str, int]:
    threads = {f"threads of {library.filepath}": library.num_threads for library in _libraries()}
    if (numba := sys.modules.get("numba")) and "numba.np.ufunc.parallel" in sys.modules:
        threads["threads of numba"] = numba.get_num_threads()
    if pyarrow := sys.modules.get("pyarrow"):
        threads["threads of pyarrow"] = pyarrow.cpu_count()
    if torch := sys.modules.get("torch"):
        threads["threads of torch"] = torch.get_num_threads()
    return threads


def _restore_threads(before: dict[str, int]) -> None:
    for library in _libraries():
        if name := before.get(f"threads of {library.filepath}"):
            library.set_num_threads(name)
    if "threads of numba" in before:
        sys.modules["numba"].set_num_threads(before["threads of numba"])
    if "threads of pyarrow" in before:
        sys.modules["pyarrow"].set_cpu_count(before["threads of pyarrow"])
    if "threads of torch" in before:
        sys.modules["torch"].set_num_threads(before["threads of torch"])


def _libraries() -> list:
    return _controller(len(sys.modules)).lib_controllers


@functools.lru_cache(maxsize=1)
def _controller(_n_modules: int) -> ThreadpoolController:
    """Return the numerical libraries that are loaded; the search takes 4 ms. They come with modules."""
    return ThreadpoolController()
