#!/usr/bin/env python3
"""
Whole runs of growing size: time, processor time, memory and disk of each process, from Nextflow's trace.

OLGA makes the receptors. They are divided into samples, each with its share and a tenth of the next one's.
The samplesheet has a column ``half`` to compare by. A run does everything: annotation where there is a
``--reference``, clusters, comparison, map, AIRR tables, AnnData and the report; ``--skip`` leaves parts
out. Inputs and traces stay in ``--folder``: ``--show`` prints the tables of earlier runs again. What the
options do not name goes to Nextflow, e.g. ``-profile slurm -process.queue=short``.
"""

import csv
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import schema, tables
from airrvec.synthetic import synthesis

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.common import results
from benchmarks.common.timing import covered

BLOCK = 16_384 * 4  # receptors made at once
CORES = 2
PAIRED = ("TRAV", "TRAJ", "CDR3A", "TRBV", "TRBJ", "CDR3B")  # of the format sceptr, in our fields' order
BETA = ("v_call", "j_call", "junction_aa")  # of AIRR rearrangements
OPTIONS = {
    "annotate": ["--annotate"],
    "cluster": ["--cluster"],
    "compare": ["--compare", "--compare_by", "half"],
    "airr": ["--export_airr"],
    "anndata": ["--export_anndata"],
}
# Beside the pipeline's own fields: bytes that reached the disk.
FIELDS = "process,name,status,submit,start,complete,realtime,%cpu,memory,peak_rss,rchar,wchar,write_bytes"
MB = 1e6


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument(
        "--receptors", type=int, nargs="+", default=[10**5, 10**6], help="sizes, one run each"
    )
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--chains", choices=("paired", "beta"), default="paired")
    parser.add_argument(
        "--reference", type=Path, help="receptors of known epitopes; without it, none are annotated"
    )
    parser.add_argument(
        "--skip", nargs="+", choices=(*OPTIONS, "map"), default=[], help="parts that are left out"
    )
    parser.add_argument("--folder", type=Path, help="for input, work and results; must be seen by all nodes")
    parser.add_argument(
        "--show", action="store_true", help="run nothing; print the tables of the traces in --folder"
    )
    return parser.parse_known_args(argv)


def receptors(block: int, n: int, chains: str) -> pa.Table:
    """Return a block of the endless table of synthetic receptors, with the columns of its input format."""
    made = synthesis.synthesise(min(BLOCK, n - block * BLOCK), seed=1, first=block * BLOCK)
    if chains == "paired":
        return made.select(list(schema.RECEPTOR_FIELDS)).rename_columns(list(PAIRED))
    first = block * BLOCK
    copies = np.minimum(np.random.default_rng((1, block)).zipf(2.0, len(made)), 10**5)
    fields = made.select([schema.field("TRB", name) for name in BETA]).rename_columns(list(BETA))
    names = pa.array([f"read{number}" for number in range(first, first + len(made))])
    return fields.add_column(0, "sequence_id", names).append_column("duplicate_count", pa.array(copies))


def blocks(n: int, chains: str) -> Iterator[pa.Table]:
    """Yield all blocks in order, made on all cores; few are held at once."""
    numbers = range(-(-n // BLOCK))
    with multiprocessing.get_context("spawn").Pool(CORES) as pool:
        for start in range(0, len(numbers), 2 * CORES):
            wanted = [(number, n, chains) for number in numbers[start : start + 2 * CORES]]
            yield from pool.starmap(receptors, wanted, chunksize=1)


def write_samples(n: int, n_samples: int, chains: str, folder: Path) -> Path:
    """Write a samplesheet and its tables, unless an earlier run has; return the samplesheet."""
    sheet = folder / "samplesheet.csv"
    if sheet.exists():
        return sheet
    folder.mkdir(parents=True, exist_ok=True)
    limits = [n * i // n_samples for i in range(n_samples + 1)]
    shares = [(a, b + (b - a) // 10 * (b < n)) for a, b in pairwise(limits)]
    paths = [folder / f"sample_{i}.tsv" for i in range(n_samples)]
    for path in paths:
        path.unlink(missing_ok=True)
    first = 0
    for table in blocks(n, chains):
        for path, (begin, end) in zip(paths, shares, strict=True):
            start, stop = max(begin, first), min(end, first + len(table))
            if start < stop:
                options = pa.csv.WriteOptions(
                    include_header=start == begin, delimiter="\t", quoting_style="none"
                )
                with path.open("ab") as handle:
                    pa.csv.write_csv(table.slice(start - first, stop - start), handle, options)
        first += len(table)
    form = "sceptr" if chains == "paired" else "airr"
    lines = [f"{path.stem},{path.name},{form},{('even', 'odd')[i % 2]}" for i, path in enumerate(paths)]
    tables.write_text("\n".join(["sample,path,format,half", *lines, ""]), sheet)
    return sheet


def run(sheet: Path, folder: Path, args, nextflow_options: list[str]) -> tuple[float, float]:
    """Run the pipeline from nothing; return start and end, in seconds since 1970."""
    skipped = {*args.skip, *([] if args.reference else ["annotate"])}
    options = [word for part, words in OPTIONS.items() if part not in skipped for word in words]
    options += ["--skip_map"] if "map" in skipped else []
    options += ["--reference", args.reference.absolute()] if args.reference else []
    config = folder / "size.config"
    config.write_text(f"trace.fields = '{FIELDS}'\n")
    for name in ("results", "work"):
        shutil.rmtree(folder / name, ignore_errors=True)
    command = [ROOT / "containers/nextflow/nextflow", "-q", "-c", config, "run", ROOT, "--input", sheet]
    command += [*options, *nextflow_options, "--outdir", folder / "results", "-work-dir", folder / "work"]
    start = time.time()
    subprocess.run([str(part) for part in command], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return start, time.time()


def read_trace(path: Path) -> list[dict]:
    """Completed tasks: times in seconds, memory and disk in MB."""
    with path.open() as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t") if row["status"] == "COMPLETED"]

    def number(row: dict, name: str) -> float:
        return float(row[name]) if row[name] != "-" else 0.0

    return [
        {
            "process": row["process"].split(":")[-1],
            "processor": number(row, "realtime") * number(row, "%cpu") / 1e5,
            "requested": number(row, "memory") / MB,
            "memory": number(row, "peak_rss") / MB,
            "read": number(row, "rchar") / MB,
            "written": number(row, "wchar") / MB,
            "disk": number(row, "write_bytes") / MB,
            **{name: number(row, name) / 1000 for name in ("submit", "start", "complete", "realtime")},
        }
        for row in rows
    ]


def process_usage(tasks: list[dict]) -> dict[str, dict]:
    """Return sums of times and disk, and maxima of memory, for each process in the order of the run."""
    usage = {}
    for name in dict.fromkeys(task["process"] for task in tasks):
        own = [task for task in tasks if task["process"] == name]
        usage[name] = {"tasks": len(own), "longest": max(task["realtime"] for task in own)}
        usage[name] |= {
            key: sum(task[key] for task in own)
            for key in ("realtime", "processor", "read", "written", "disk")
        }
        usage[name] |= {key: max(task[key] for task in own) for key in ("memory", "requested")}
    return usage


def show(tasks: list[dict], n_samples: int, start: float, end: float) -> dict:
    """Print a table of the processes, and Nextflow's own time; return both."""
    table = results.Table(
        process="", tasks="d", seconds=",.1f", longest_s=",.1f", processor_s=",.1f",
        peak_MB=",.0f", requested_MB=",.0f", read_MB=",.0f", written_MB=",.0f", to_disk_MB=",.0f",
    )  # fmt: skip
    for name, part in process_usage(tasks).items():
        table.add(
            **{"process": name, "tasks": part["tasks"], "seconds": part["realtime"]},
            **{"longest_s": part["longest"], "processor_s": part["processor"], "peak_MB": part["memory"]},
            **{"requested_MB": part["requested"], "read_MB": part["read"], "written_MB": part["written"]},
            to_disk_MB=part["disk"],
        )
    wall = end - start
    idle = wall - covered([(task["start"], task["complete"]) for task in tasks])
    before = min(task["start"] for task in tasks) - start
    after = end - max(task["complete"] for task in tasks)
    total, processor = (sum(task[key] for task in tasks) for key in ("realtime", "processor"))
    print(f"\nWall {wall:,.1f} s; {len(tasks)} tasks of {total:,.1f} s, {processor:,.1f} s of processor.")
    print(f"Wall in which no task ran: {idle:,.1f} s, {idle / n_samples:.2f} s a sample;", end=" ")
    print(f"{before:,.1f} s before the first task, {after:,.1f} s after the last.\n")
    return {
        **{"wall_s": wall, "tasks": len(tasks), "tasks_s": total, "processor_s": processor},
        **{"without_task_s": idle, "before_s": before, "after_s": after, "processes": table.rows},
    }


def show_growth(sizes: list[int], runs: list[dict[str, dict]]) -> None:
    """Print how processor time and memory of each process grow from one size to the next."""
    print("| Process |" + "".join(f" {a:,} → {b:,}: processor | memory |" for a, b in pairwise(sizes)))
    print("|---|" + "---|" * 2 * (len(sizes) - 1))
    for name in runs[-1]:
        cells = []
        for before, after in pairwise(runs):
            for key in ("processor", "memory"):
                first, second = before.get(name, {}).get(key), after.get(name, {}).get(key)
                cells.append(f"× {second / first:.1f}" if first and second else "")
        print(f"| {name} | {' | '.join(cells)} |")


def main(argv=None):
    args, nextflow_options = parse_args(argv)
    measured, runs = [], []
    with tempfile.TemporaryDirectory() as temporary:
        parent = (args.folder or Path(temporary)).absolute()
        for n in args.receptors:
            folder = parent / f"{args.chains}_{n}_{args.samples}"
            trace, times = folder / "trace.txt", folder / "times.txt"
            if not args.show:
                begin = time.perf_counter()
                sheet = write_samples(n, args.samples, args.chains, folder / "input")
                print(f"{n:,} receptors written in {time.perf_counter() - begin:.1f} s", file=sys.stderr)
                start, end = run(sheet, folder, args, nextflow_options)
                shutil.copy(folder / "results/pipeline_info/execution_trace.txt", trace)
                times.write_text(f"{start} {end}\n")
            tasks = read_trace(trace)
            measured.append(process_usage(tasks))
            print(f"\n{n:,} {args.chains} receptors in {args.samples} samples")
            start, end = map(float, times.read_text().split())
            runs.append({"receptors": n, "samples": args.samples, **show(tasks, args.samples, start, end)})
    if len(measured) > 1:
        show_growth(args.receptors, measured)
    results.write(args, {"chains": args.chains, "runs": runs})


if __name__ == "__main__":
    main()
