#!/usr/bin/env python3
"""
A run of many cells read by the R package airrvecr: time and memory of each way.

The run is a folder of results, its cells repeated: each repetition has receptors and clones of its own with
the vectors of the first. Calls and clusters are repeated too. Rscript needs airrvecr and arrow; if it is in
a container, that sees the folders:

    python benchmarks/speed/r_speed.py results/demo --folder /tmp/r_speed \
        --rscript "docker run --rm --volume /tmp:/tmp ghcr.io/airrvec/airrvec-r:0.1.0 Rscript"
"""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import tables

import numpy as np
import pyarrow as pa

from benchmarks.common import results

# Each way in an R of its own, whose highest memory it is.
SCRIPT = """
suppressPackageStartupMessages(library(airrvecr))
folder <- commandArgs(TRUE)[1]
way <- commandArgs(TRUE)[2]
few <- c("clone_id", "clone_size", "call", "call_epitope", "trb_v_call", "trb_junction_aa")
read <- function(...) read_airrvec(folder, ...)
took <- function(code) system.time(code)
seconds <- switch(way,
  "all columns, vectors" = took(x <- read()),
  "six columns, vectors" = took(x <- read(columns = few)),
  "six columns, no vectors" = took(x <- read(columns = few, models = character())),
  "nearest of ten cells, in memory" = {
    x <- read(columns = few)
    took(nearest(colnames(x)[1:10], x))
  },
  "nearest of ten cells, in the folder" = {
    x <- read_airrvec(folder, "s0", columns = "call")[, 1:10]
    took(nearest(x, folder))
  }
)
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
peak <- as.numeric(gsub("[^0-9]", "", peak)) / 1024
processor <- seconds[["user.self"]] + seconds[["sys.self"]]
figures <- '\\n{"wall_s": %.1f, "processor_s": %.1f, "memory_MB": %.0f}\\n'
cat(sprintf(figures, seconds[["elapsed"]], processor, peak))
"""
WAYS = (
    "all columns, vectors",
    "six columns, vectors",
    "six columns, no vectors",
    "nearest of ten cells, in memory",
    "nearest of ten cells, in the folder",
)
SAMPLES = 4
IDS = ("receptor_id", "clonotype_id", "clone_id", "cluster_id")


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("results", type=Path, help="results of a run with --annotate and --cluster")
    parser.add_argument("--cells", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, required=True, help="where the large run is written, or lies")
    parser.add_argument("--rscript", default="Rscript", help="command of an R with airrvecr and arrow")
    return parser.parse_args(argv)


def write_run(source: Path, folder: Path, n: int) -> None:
    """Write a run of ``n`` cells in `SAMPLES` samples, of the cells of the run in ``source``."""
    for part in ("pipeline_info", "annotation/reference"):
        shutil.copytree(source / part, folder / part)
    shutil.copy(source / "ro-crate-metadata.json", folder)
    samples = [path.stem for path in sorted((source / "annotation").glob("*.parquet"))]
    cells = pa.concat_tables(tables.read(source / f"cells/{name}.parquet") for name in samples)
    calls = pa.concat_tables(tables.read(source / f"annotation/{name}.parquet") for name in samples)
    # A cell counts with the receptor of its call, and none joined a clone.
    cells = cells.set_column(cells.column_names.index("receptor_id"), "receptor_id", calls["receptor_id"])
    members = tables.read(source / "clones/members.parquet")
    clones = pa.array(np.resize(members["clone_id"].to_numpy(zero_copy_only=False), len(cells)))
    clones = pa.table({"receptor_id": cells["receptor_id"], "clone_id": clones})
    each = n // SAMPLES
    parts = []
    for sample in range(SAMPLES):
        rows = np.arange(sample * each, (sample + 1) * each)
        name = pa.array([f"s{sample}"] * each)
        own = repeated(cells, rows).set_column(0, "sample_id", name)
        barcodes = pa.array([f"cell-{number}" for number in rows])
        own = own.set_column(own.column_names.index("cell_id"), "cell_id", barcodes)
        tables.write(own, folder / f"cells/s{sample}.parquet")
        own = repeated(calls, rows).set_column(0, "sample_id", name)
        tables.write(own, folder / f"annotation/s{sample}.parquet")
        own = repeated(clones, rows).add_column(0, "sample_id", name)
        own = own.append_column("cell_row", pa.array(np.arange(1, each + 1)))
        parts.append(own.append_column("joined", pa.array(np.zeros(each, bool))))
    write_clones(pa.concat_tables(parts), folder)
    for path in ("receptors/receptors", "clusters/members", "embeddings/sceptr"):
        table, metadata = (read(source / f"{path}.parquet") for read in (tables.read, tables.metadata))
        rows = np.arange(-(-n // len(cells)) * len(table))
        tables.write(repeated(table, rows), folder / f"{path}.parquet", metadata)


def write_clones(members: pa.Table, folder: Path) -> None:
    """Write the clone of each cell, and the cells of each clone."""
    tables.write(members, folder / "clones/members.parquet")
    counts = members.group_by(["sample_id", "clone_id"]).aggregate([([], "count_all")])
    counts = counts.rename_columns(["sample_id", "clone_id", "n_cells"])
    tables.write(counts, folder / "clones/counts.parquet")


def repeated(table: pa.Table, rows: np.ndarray) -> pa.Table:
    """Return rows of the table repeated; ids begin with the number of the repetition."""
    copy = rows // len(table)
    taken = table.take(pa.array(rows % len(table)))
    for name in set(IDS) & set(table.column_names):
        place = table.column_names.index(name)
        taken = taken.set_column(place, name, with_copy(taken[name], copy))
    return taken


def with_copy(ids: pa.ChunkedArray, copy: np.ndarray) -> pa.Array:
    """Return ids of 24 characters, the first four of which are the number of the repetition."""
    texts = zip(ids.to_pylist(), copy.tolist(), strict=True)
    return pa.array([value and f"{number:04x}{value[4:]}" for value, number in texts], pa.string())


def measured(command: list[str], folder: Path, way: str) -> dict[str, float]:
    """Return time and memory of a way, from the last line that R prints."""
    done = subprocess.run([*command, str(folder / "way.R"), str(folder), way], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{way}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main(argv=None):
    args = parse_args(argv)
    if not (args.folder / "cells").exists():
        write_run(args.results, args.folder, args.cells)
    (args.folder / "way.R").write_text(SCRIPT)
    table = results.Table(cells=",", way="", wall_s=".1f", processor_s=".1f", memory_MB=",.0f")
    for way in WAYS:
        table.add(cells=args.cells, way=way, **measured(shlex.split(args.rscript), args.folder, way))
    results.write(args, {"ways": table.rows})


if __name__ == "__main__":
    main()
