"""
Runs that alternate, each in a process of its own, and Markdown tables of their times.

Ratios are those of the processor's seconds within a round, which other programs disturb less than wall time.
"""

import hashlib
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

OWN = "airrvec"
TIMES = ("Wall, s", "Processor, s", "Times airrvec", "Memory, MB")


def apart(function: Callable, *args):
    """Return the result of a function in a process of its own, or a text if that process crashes."""
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            return pool.submit(function, *args).result()
    except BrokenProcessPool:
        return "**the process crashes**"


def in_turn(ways: dict[str, Callable], rounds: int, *args) -> dict[str, list[dict]]:
    """Return what each run of each way measured."""
    rows = [[apart(function, *args) for function in ways.values()] for _ in range(rounds)]
    return dict(zip(ways, zip(*rows, strict=True), strict=True))


def measured(function: Callable) -> tuple[dict, object]:
    """Return seconds (wall and processor) and the most memory added, in MB; and the function's result."""
    Path("/proc/self/clear_refs").write_text("5")  # the highest memory so far is now the present one
    before, wall, processor = highest_memory(), time.perf_counter(), time.process_time()
    result = function()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {"wall": wall, "processor": processor, "memory": highest_memory() - before}, result


def highest_memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def median(runs: list[dict], name: str) -> float:
    return statistics.median(run[name] for run in runs)


def times(runs: dict, way: str) -> tuple[str, str, str, str]:
    """Return the columns `TIMES`: medians; the ratio also with its least and greatest."""
    ratios = [run["processor"] / own["processor"] for run, own in zip(runs[way], runs[OWN], strict=True)]
    ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f}–{max(ratios):.2f})" if way != OWN else "1"
    seconds = (f"{median(runs[way], name):.2f}" for name in ("wall", "processor"))
    return *seconds, ratio, f"{median(runs[way], 'memory'):,.0f}"


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def show_header(title: str, *columns: str) -> None:
    print(f"\n{title}\n\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)


def show_row(*cells) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)
