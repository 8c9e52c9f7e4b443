"""Times, ratios and memory: functions that alternate, programs, and intervals of tasks."""

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.common import usage

_NO_LIMIT = 10**6  # seconds


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


def usage_of(command: Sequence, path: Path, *, limit: int = _NO_LIMIT, **options) -> dict:
    """
    Return what a program used (`usage`), which `usage` writes into a file.

    Parameters
    ----------
    command : sequence
        The program's path, and its arguments.
    path : Path
        The file.
    limit : int
        Seconds after which it is killed.
    **options
        Of `subprocess.run`.
    """
    launch = [sys.executable, "-I", usage.__file__, path, limit, *command]
    subprocess.run(list(map(str, launch)), check=True, **options)
    return json.loads(path.read_text())


def program(*words, **options) -> dict[str, float]:
    """
    Run a program, named by its path; return its seconds, wall and processor, and its highest memory in MB.

    Further options are those of `usage_of`.

    Raises
    ------
    SystemExit
        If the program fails.
    """
    with TemporaryDirectory() as folder:
        used = usage_of(words, Path(folder) / "usage.json", stdout=sys.stderr, **options)
    if used["status"]:
        sys.exit(f"{words[0]} {words[1]} failed")
    return {"wall_s": used["wall"], "processor_s": used["processor"], "memory_MB": used["memory"]}


def nextflow(root: Path, *words, cwd: Path | str) -> dict[str, float]:
    """Run the launcher of a checkout, as `program`: its pinned Nextflow, not the first one on PATH."""
    environment = os.environ | {"AIRRVEC_NEXTFLOW": "24.10.0"}
    return program(root / "containers/nextflow/nextflow", *words, cwd=cwd, env=environment)


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
