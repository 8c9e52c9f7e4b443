"""Time and memory of the script ``embed_receptors.py``, for `embedding_speed`."""

import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from airrvec.core import tables

import pyarrow as pa

from benchmarks.common.timing import program

ROOT = Path(__file__).parents[2]
SCALED = 40_000, 240_000  # receptors of the shards by which workers are compared


def run_task(source: Path, folder: Path, out: Path, cpus: int) -> dict:
    """EMBED_RECEPTORS by itself."""
    command = [sys.executable, ROOT / "bin/embed_receptors.py", source, "--model", folder / "model"]
    command += ["--device", "cpu", "--threads", cpus, "--out", out]
    used = program(*command, stderr=subprocess.DEVNULL)
    return {
        "seconds": used["wall_s"],
        "cpu_seconds": used["processor_s"],
        "peak_gib": used["memory_MB"] / 1024,
    }


def workers(made: pa.Table, folder: Path, rounds: int, sizes: tuple[int, ...] = SCALED) -> dict:
    """
    Wall time of further receptors by one worker and by two, in turn: a longer shard less a shorter one.

    Two tasks of one worker each, which share nothing, say what the machine gives to two of anything.
    """
    paths = {n: folder / f"some_{n}.parquet" for n in (0, *sizes)}
    for n, path in paths.items():
        tables.write(made.slice(0, n), path)

    def seconds(n: int, cpus: int, tasks: int = 1) -> float:
        def run(task: int) -> float:
            return run_task(paths[n], folder, folder / f"out_{task}.parquet", cpus)["seconds"]

        with ThreadPoolExecutor(tasks) as pool:
            return max(pool.map(run, range(tasks)))

    starts, gains, limits = [], [], []
    for _ in range(rounds):
        starts.append(seconds(0, 1))
        one, two, apart = (seconds(sizes[1], *how) - seconds(sizes[0], *how) for how in ((1,), (2,), (1, 2)))
        gains.append(one / two)
        limits.append(2 * one / apart)
    return {
        "start_seconds": statistics.median(starts),
        "two_workers": statistics.median(gains),
        "two_tasks": statistics.median(limits),
    }
