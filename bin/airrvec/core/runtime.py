"""Thread limits of the numerical libraries, and progress lines."""

import os
import sys
import time
from collections.abc import Callable

import pyarrow as pa
from threadpoolctl import threadpool_limits


def limit_threads(n: int) -> None:
    """Limit numerical libraries to ``n`` threads, both those already loaded and those loaded later."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(n)  # read when a library is loaded; numpy's OpenBLAS already is
    threadpool_limits(n)
    pa.set_cpu_count(n)
    if (numba := sys.modules.get("numba")) is None:
        os.environ["NUMBA_NUM_THREADS"] = str(n)  # numba rejects a different number once its threads run
    else:
        numba.set_num_threads(min(n, numba.config.NUMBA_NUM_THREADS))
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(n)


def progress(what: str, total: int, *, every: float = 5.0) -> Callable[[int], None]:
    """
    Return a function that prints progress to standard error, every few seconds and at the end.

    Parameters
    ----------
    what : str
        Unit of the count, e.g. ``receptors embedded``.
    total : int
        Final count.
    every : float
        Seconds between lines.

    Returns
    -------
    callable
        Call it with the number done since the previous call.
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
            f"{done:,} of {total:,} {what} ({share:.0f} %), {rate:,.0f} per second, {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )

    return update
