"""
Lines of progress on standard error, one every five seconds: the one place for them.

A script names what it does by `step`, and counts what it can count by `counter`. Where nothing has been
counted for five seconds, `airrvec.core.heartbeat`, a process of its own, prints the name and the time of the
step: also of a script without steps, and while compiled code runs.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from airrvec.core.terminal import print_warning, printable

EVERY = 5.0  # seconds between lines

_HEARTBEAT = Path(__file__).with_name("heartbeat.py")
_END = 1.0  # seconds in which it ends by itself

_lock = threading.Lock()
_steps: list[bytes] = []  # that have begun and not ended, of all threads; the last is shown
_process: subprocess.Popen | None = None


@contextmanager
def reported(name: str) -> Iterator[None]:
    """Print lines of progress in this block, a step of this name; in another such block it is that alone."""
    global _process
    if _process is not None:
        with step(name):
            yield
        return
    began = time.monotonic()
    with suppress(OSError):  # no further process is allowed: then there is no progress
        words = [sys.executable, "-I", "-S", str(_HEARTBEAT), str(EVERY)]
        # Not in the process group of the terminal: an interrupt is for us, and the pipe then ends.
        _process = subprocess.Popen(words, stdin=subprocess.PIPE, process_group=0, bufsize=0)
    try:
        with step(name):
            yield
    finally:
        process, _process = _process, None
        if process is not None:
            _end(process, at_once=time.monotonic() - began < EVERY)


def _end(process: subprocess.Popen, *, at_once: bool) -> None:
    assert process.stdin is not None  # a pipe
    with suppress(OSError):
        process.stdin.close()
    if at_once:
        process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_END)
        return
    process.kill()
    process.wait()


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name what a script does in this block. Steps may be in steps, and in several threads at once."""
    line = f"{time.monotonic()}\t{printable(name)}\n".encode()
    with _lock:
        _steps.append(line)
        _send(line)
    try:
        yield
    finally:
        with _lock:
            _steps.remove(line)
            if _steps:
                _send(_steps[-1])


def _send(line: bytes) -> None:
    if _process is not None and _process.stdin is not None:
        with suppress(OSError):  # somebody has killed it
            _process.stdin.write(line)


def counter(noun: str, total: int, *, ends: bool = True) -> Callable[[int], None]:
    """
    Return a function that prints progress to standard error, every few seconds and at the end.

    Parameters
    ----------
    noun : str
        Unit of the count, e.g. ``receptors embedded``.
    total : int
        Final count.
    ends : bool
        Print a line at the end, however short the time was.

    Returns
    -------
    callable
        Call it with the number done since the previous call, from any thread.
    """
    start = last = time.monotonic()
    done, counting = 0, threading.Lock()

    def update(n: int) -> None:
        with counting:
            count(n)

    def count(n: int) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if now - last < EVERY and not (ends and done >= total):
            return
        last = now
        rate = done / max(now - start, 1e-9)
        left = (total - done) / max(rate, 1e-9)
        share = 100 * done / total if total else 100
        print_warning(
            f"{done:,} of {total:,} {noun} ({share:.0f} %), {rate:,.0f} per second, {left:.0f} s left"
        )
        with _lock:
            _send(b"\n")

    return update
