"""The one place for threads, those of the numerical libraries and our own."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager

from airrvec.core.errors import require_at_least_one

import pyarrow as pa
from threadpoolctl import ThreadpoolController


def chosen_threads(threads: int | None) -> int:
    """Return the number of threads that a caller gives, at least 1; by default one per processor."""
    number = (os.cpu_count() or 1) if threads is None else threads
    require_at_least_one("threads", number)
    return number


def limit_threads(n: int, *, loops: int | None = None) -> None:
    """
    Limit numerical libraries to ``n`` threads, both those already loaded and those loaded later.

    Matrix products of numpy and scipy take one thread (`one_blas_thread`): a task gives the same bytes with
    any ``n``. ``loops``: threads of our compiled loops, if they are not ``n``.
    """
    loops = loops or n
    for name, threads in {"OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": 1, "MKL_NUM_THREADS": n}.items():
        os.environ[name] = str(threads)  # read when a library is loaded; numpy's OpenBLAS already is
    _libraries(len(sys.modules)).limit(limits={"blas": 1, "openmp": n})
    pa.set_cpu_count(n)
    if (numba := sys.modules.get("numba")) is not None:
        numba.set_num_threads(max(1, min(loops, numba.config.NUMBA_NUM_THREADS)))
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(loops)  # numba rejects a different number once its threads run
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(n)


@contextmanager
def numba_threads(n: int) -> Iterator[None]:
    """In this context, numba's loops that this thread starts take ``n`` threads, or all that numba has."""
    import numba

    before = numba.get_num_threads()
    most = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # numba sets it when imported
    numba.set_num_threads(max(1, min(n, most)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def restored_threads() -> Iterator[None]:
    """Give the libraries the threads of before back at the end: a notebook goes on after a verb."""
    import numba

    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    variables = {name: os.environ.get(name) for name in names}
    loops, cpus = numba.get_num_threads(), pa.cpu_count()
    try:
        with _libraries(len(sys.modules)).limit(limits=None):
            yield
    finally:
        numba.set_num_threads(loops)
        pa.set_cpu_count(cpus)
        for name, value in variables.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def in_threads(function: Callable, items: Iterable, n: int) -> Iterator:
    """
    Yield ``function(item)`` in the order of the items, with ``n`` running at once and as many waiting.

    Meanwhile numpy's matrix products take one thread each. With ``n`` of 1 the caller's thread does all: two
    threads that hand items to each other take a tenth longer.

    Parameters
    ----------
    function : callable
        Runs in parallel while it is in compiled loops, which release the interpreter lock.
    """
    with one_blas_thread():
        yield from map(function, items) if n == 1 else _in_pool(function, items, n)


def _in_pool(function: Callable, items: Iterable, n: int) -> Iterator:
    with ThreadPoolExecutor(n) as pool:
        waiting = []
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) == 2 * n:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()


def one_openmp_thread() -> AbstractContextManager:
    """
    Return a context in which OpenMP's loops take one thread.

    For many short loops: threads wait for each other at the end of each, and where other tasks share the
    cores, two of them take many times as long as one.
    """
    return _libraries(len(sys.modules)).limit(limits=1, user_api="openmp")


def one_blas_thread() -> AbstractContextManager:
    """
    Return a context in which matrix products take one thread.

    Their sums are in another order with each number of threads, and so are the last bits of the result.
    """
    return _libraries(len(sys.modules)).limit(limits=1, user_api="blas")


@functools.lru_cache(maxsize=1)
def _libraries(_n_modules: int) -> ThreadpoolController:
    """Return the numerical libraries that are loaded; the search takes 4 ms. They come with modules."""
    return ThreadpoolController()
