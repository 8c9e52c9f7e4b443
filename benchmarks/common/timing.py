"""Times, ratios and memory: functions that alternate, programs, and intervals of tasks."""

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence


def alternate(functions: dict[str, Callable], rounds: int) -> dict[str, list[float]]:
    """
    Return the seconds of each function in each round; the first round is not counted.

    They are seconds of the processor, or wall time for a name with ``GPU``.
    """
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    for number in range(rounds + 1):
        for name, function in functions.items():
            # A GPU's work is not the processor's time.
            clock = time.perf_counter if "GPU" in name else time.process_time
            start = clock()
            function()
            if number:
                seconds[name].append(clock() - start)
    return seconds


def ratio(seconds: dict[str, list[float]], base: str, to: str) -> float:
    """Return the median over the rounds of the seconds of ``to`` divided by those of ``base``."""
    return statistics.median(b / a for a, b in zip(seconds[base], seconds[to], strict=True))


def program(*words) -> dict[str, float]:
    """
    Run a program; return its seconds, wall and processor, and its highest memory in MB.

    Raises
    ------
    SystemExit
        If the program fails.
    """
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, words)), stdout=sys.stderr)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        sys.exit(f"{words[0]} {words[1]} failed")
    return {"wall_s": wall, "processor_s": used.ru_utime + used.ru_stime, "memory_MB": used.ru_maxrss / 1024}


def peak_memory() -> float:
    """Return the highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def covered(intervals: Sequence[tuple[int, int]]) -> int:
    """Return the length of the union of intervals."""
    total, end = 0, -sys.maxsize
    for start, stop in sorted(intervals):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total
