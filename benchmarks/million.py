#!/usr/bin/env python3
"""
Synthetic receptors through the whole pipeline: time and memory of each process, overhead a task.

OLGA makes the receptors, which are divided into samples; some are in two of them. The rows of the result
are counted. The samplesheet has a column ``half`` to compare by. What the options do not name goes to
Nextflow, e.g. ``-profile slurm -process.queue=short``.
"""

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nextflow_overhead import ROOT, covered

sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import schema, tables
from airrvec.synthetic import synthesis

COLUMNS = ("TRAV", "TRAJ", "CDR3A", "TRBV", "TRBJ", "CDR3B")  # of the format sceptr, in our fields' order


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--receptors", type=int, default=1_000_000)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="for input, work and results; must be seen by all nodes")
    return parser.parse_known_args(argv)


def write_samples(n_receptors: int, n_samples: int, folder: Path) -> Path:
    """A samplesheet, and its tables: each has its share of the receptors, and a tenth of the next one's."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["sample,path,format,half"]
    for number in range(n_samples):
        first, end = (n_receptors * i // n_samples for i in (number, number + 1))
        again = (end - first) // 10 if number + 1 < n_samples else 0
        made = synthesis.synthesise(end - first + again, seed=1, first=first)
        table = made.select(list(schema.RECEPTOR_FIELDS)).rename_columns(list(COLUMNS))
        tables.write_tsv(table, folder / f"sample_{number}.tsv")
        lines.append(f"sample_{number},sample_{number}.tsv,sceptr,{'odd' if number % 2 else 'even'}")
    sheet = folder / "samplesheet.csv"
    sheet.write_text("\n".join(lines) + "\n")
    return sheet


def read_trace(path: Path) -> list[dict]:
    """Completed tasks, times in seconds and memory in bytes."""
    with path.open() as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["status"] == "COMPLETED"]
    numbers = ("submit", "start", "complete", "realtime")
    return [
        {
            "process": row["process"].split(":")[-1],
            "processor": float(row["realtime"]) * float(row["%cpu"] if row["%cpu"] != "-" else 0) / 1e5,
            "memory": int(row["peak_rss"]) if row["peak_rss"].isdigit() else 0,
            "requested": int(row["memory"]),
            **{name: int(row[name]) / 1000 for name in numbers},
        }
        for row in rows
    ]


def show(tasks: list[dict], wall: float) -> None:
    print(
        f"{'process':<22}{'tasks':>6}{'seconds each':>14}{'longest':>9}{'processor':>11}{'peak MB':>9}"
        f"{'requested':>11}"
    )
    for process in dict.fromkeys(task["process"] for task in tasks):
        of_process = [task for task in tasks if task["process"] == process]
        seconds = [task["realtime"] for task in of_process]
        peak = max(task["memory"] for task in of_process) / 1e6
        requested = max(task["requested"] for task in of_process) / 1e6
        print(
            f"{process:<22}{len(seconds):>6}{statistics.mean(seconds):>14.1f}{max(seconds):>9.1f}"
            f"{sum(task['processor'] for task in of_process):>11.1f}{peak:>9.0f}{requested:>11.0f}"
        )
    busy = covered([(task["start"], task["complete"]) for task in tasks])
    overhead = [task["complete"] - task["start"] - task["realtime"] for task in tasks]
    waited = [task["start"] - task["submit"] for task in tasks]
    print(f"  wall                          {wall:>8.1f} s, {len(tasks)} tasks")
    print(f"  sum of the tasks              {sum(task['realtime'] for task in tasks):>8.1f} s")
    print(f"  wall in which no task ran     {wall - busy:>8.1f} s")
    print(f"  a task beside its own time    {statistics.median(overhead):>8.2f} s (median)")
    print(f"  a task from submission on     {statistics.median(waited):>8.2f} s (median) until it started")


def main(argv=None):
    args, of_nextflow = parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (args.folder or Path(temporary)).absolute()
        sheet = write_samples(args.receptors, args.samples, folder / "input")
        command = [ROOT / "containers/nextflow/nextflow", "-q", "run", ROOT, "--input", sheet, *of_nextflow]
        command += ["--outdir", folder / "results", "-work-dir", folder / "work"]
        start = time.perf_counter()
        subprocess.run([str(part) for part in command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        wall = time.perf_counter() - start
        results = folder / "results"
        rows = sum(len(tables.read(path, ["receptor_id"])) for path in (results / "cells").iterdir())
        files = sorted((results / "embeddings").rglob("*.parquet"))
        n_vectors = sum(len(tables.read(path, ["receptor_id"])) for path in files)
        size = sum(path.stat().st_size for path in results.rglob("*.parquet")) / 1e6
        print(f"{rows:,} rows of {args.samples} samples, {n_vectors:,} receptors, {size:,.0f} MB of tables")
        show(read_trace(results / "pipeline_info/execution_trace.txt"), wall)


if __name__ == "__main__":
    main()
