"""Threads of the numerical libraries, and lines of progress."""

import os
import sys
import time
from collections.abc import Callable

import pyarrow as pa
from threadpoolctl import threadpool_limits


def limit_threads(n: int) -> None:
    """Let numerical libraries use ``n`` threads: those that are loaded, and those that will be."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(n)  # read when a library is loaded, which numpy's OpenBLAS is by now
    threadpool_limits(n)
    pa.set_cpu_count(n)
    if (numba := sys.modules.get("numba")) is None:
        os.environ["NUMBA_NUM_THREADS"] = str(n)  # numba refuses another number once its threads run
    else:
        numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(n)


def progress(what: str, total: int, *, every: float = 5.0) -> Callable[[int], None]:
    """
    A line on standard error every few seconds, and one at the end.

    Parameters
    ----------
    what : str
        What is counted, e.g. ``receptors embedded``.
    total : int
        How many there will be.
    every : float
        Seconds between lines.

    Returns
    -------
    callable
        To be called with the number done since the last call.
    """
    start = last = time.monotonic()
    done = 0

    def update(n: int) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if now - last < every and done < total:
            return
        last = now
        rate = done / max(now - start, 1e-9)
        left = (total - done) / max(rate, 1e-9)
        share = 100 * done / total if total else 100
        print(
            f"{done:,} of {total:,} {what} ({share:.0f} %), {rate:,.0f} a second, {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    return update
