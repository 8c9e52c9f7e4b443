#!/usr/bin/env python3
"""What Nextflow adds to the demonstration: wall time, less the time in which tasks ran."""

import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main():
    with tempfile.TemporaryDirectory() as folder:
        launcher = ROOT / "containers/nextflow/nextflow"
        command = [launcher, "-q", "run", ROOT, "-profile", "demo", "--outdir", f"{folder}/results"]
        start = time.perf_counter()
        subprocess.run([str(part) for part in command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        trace = Path(folder) / "results/pipeline_info/execution_trace.txt"
        with trace.open() as handle:
            tasks = list(csv.DictReader(handle, delimiter="\t"))
    total = sum(int(task["realtime"]) for task in tasks) / 1000
    busy = covered([(int(task["start"]), int(task["complete"])) for task in tasks]) / 1000
    print(f"Demonstration, from an empty work folder, {len(tasks)} tasks")
    print(f"  wall                        {wall:>6.1f} s")
    print(f"  sum of the tasks            {total:>6.1f} s")
    print(f"  wall less the sum           {wall - total:>6.1f} s (below 0 where tasks ran side by side)")
    print(f"  wall in which no task ran   {wall - busy:>6.1f} s")


def covered(intervals: list[tuple[int, int]]) -> int:
    """Length of the union of intervals."""
    total, end = 0, -sys.maxsize
    for start, stop in sorted(intervals):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total


if __name__ == "__main__":
    main()
