#!/usr/bin/env python3
"""
What Nextflow adds to the demonstration: wall time, less the time in which tasks ran.

Options that the benchmark does not know go to Nextflow; ``--trace`` reads the trace of an earlier run.
"""

import csv
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = ("wall_s", "tasks_s", "wall_less_tasks_s", "without_task_s")
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from benchmarks.common import results, timing


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--profile", default="demo")
    parser.add_argument("--trace", type=Path, help="run nothing; measure this execution_trace.txt")
    return parser.parse_known_args(argv)


def run(profile: str, further: list[str], folder: Path) -> tuple[Path, float]:
    """Run the pipeline from an empty work folder; return its trace, and the wall time in seconds."""
    command = [ROOT / "containers/nextflow/nextflow", "-q", "run", ROOT, "-profile", profile, *further]
    command += ["--outdir", folder / "results"]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder / "results/pipeline_info/execution_trace.txt", time.perf_counter() - start


def measure(trace: Path, wall: float | None) -> dict[str, float]:
    """Return the figures of a trace; without the wall time, that from the first task to the last."""
    with trace.open() as handle:
        tasks = [task for task in csv.DictReader(handle, delimiter="\t") if task["complete"] != "-"]
    ran = [(int(task["start"]), int(task["complete"])) for task in tasks]
    total = sum(int(task["realtime"]) for task in tasks) / 1000
    wall = wall or (max(end for _, end in ran) - min(start for start, _ in ran)) / 1000
    return {
        "tasks": len(tasks),
        "wall_s": wall,
        "tasks_s": total,
        "wall_less_tasks_s": wall - total,  # below 0 where tasks ran side by side
        "without_task_s": wall - timing.covered(ran) / 1000,
    }


def main(argv=None):
    args, further = parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        trace, wall = (args.trace, None) if args.trace else run(args.profile, further, Path(folder))
        figures = measure(trace, wall)
    table = results.Table(tasks="d", **dict.fromkeys(SECONDS, ".1f"))
    table.add(**figures)
    results.write(args, figures)


if __name__ == "__main__":
    main()
