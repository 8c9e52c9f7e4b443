#!/usr/bin/env python3
"""
The map of many receptors: what it takes to make the page, and to look at it in a headless Chromium.

Vectors are random ones in cells of their own, genes and junctions random words. The script is
`map_receptors.py` itself. In the browser: the time until the points stand, and the time between frames while
the mouse drags the map. Without a graphics card, as here, Chromium paints by the processor; without Chromium
the first columns alone are measured.

    python benchmarks/map_speed.py 10000 50000 1000000
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT / "tests"), str(ROOT)]

from airrvec.core import schema, tables

import numpy as np
import psutil
import pyarrow as pa
from neighbours_speed import vectors

import browser

PART = 250_000  # receptors that are made at once
SAMPLES = 8
EPITOPES = 40
MOVES = 40
COLUMNS = ("Receptors", "Points", "Map, s", "Processor, s", "Memory, MB", "Page, MB")
COLUMNS += ("Open, s", "Heap, MB", "Frame, ms: median", "worst", "processor", "Search, s")
# Collects the time between frames from now on.
WATCH = """(() => { window.frames_ = []; let last;
  const next = now => { if (last) frames_.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next); })()"""


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("receptors", type=int, nargs="*", default=[10_000, 50_000, 1_000_000])
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder of the pages and screenshots")
    return parser.parse_args(argv)


def write_run(n: int, folder: Path) -> None:
    """Receptors, vectors and cells of a run that never was, part by part."""
    names = ("receptors", "embeddings", "cells")
    with ExitStack() as stack:
        writers = {}
        for number, first in enumerate(range(0, n, PART)):
            for name, table in zip(names, _part(number, first, min(PART, n - first)), strict=True):
                if name not in writers:
                    path, metadata = folder / f"{name}.parquet", {"model": "sceptr"}
                    writers[name] = stack.enter_context(tables.writer(path, table.schema, metadata))
                writers[name].write_table(table)


def _part(number: int, first: int, n: int) -> tuple[pa.Table, pa.Table, pa.Table]:
    rng = np.random.default_rng(number)
    ids = pa.array([f"{row:024x}" for row in range(first, first + n)])
    letters = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), size=(2, n, 10))
    words = {
        "receptor_id": ids,
        "clonotype_id": ids,
        "species": ["homosapiens"] * n,
        "chain_pairing": ["single pair"] * n,
    }
    for locus, of_locus in zip(schema.LOCI, letters, strict=True):
        for segment in "VJ":
            genes = [f"{locus}{segment}{i}" for i in rng.integers(1, 31, n)]
            words[schema.field(locus, f"{segment.lower()}_call")] = genes
        words[schema.field(locus, "junction_aa")] = ["CA" + "".join(row) + "F" for row in of_locus]
    receptors = {field.name: words.get(field.name, pa.nulls(n, field.type)) for field in schema.RECEPTORS}
    labels = [f"EPITOPE{i}" if i < EPITOPES else None for i in rng.geometric(0.02, n)]
    cells = {
        "sample_id": [f"sample_{i}" for i in rng.integers(SAMPLES, size=n)],
        "receptor_id": ids,
        "clonotype_id": ids,
        "epitope": labels,
    }
    return (
        pa.table(receptors, schema=schema.RECEPTORS),
        pa.table([ids, *vectors(n, 64, number + 1).T], names=["receptor_id", *schema.dimensions(64)]),
        pa.table(cells),
    )


def looked_at(page: browser.Page, path: Path, picture: Path | None) -> dict:
    """Seconds until the points stand, and milliseconds between frames while the map is dragged."""
    begin = time.perf_counter()
    page.open(f"file://{path}")
    opened = time.perf_counter() - begin
    heap = page.value("performance.memory.usedJSHeapSize") / 2**20
    if picture:
        page.screenshot(picture)
    page.value(WATCH)
    busy = processor()
    mouse = {"button": "left", "buttons": 1}
    page.call("Input.dispatchMouseEvent", type="mousePressed", x=400, y=400, clickCount=1, **mouse)
    for step in range(MOVES):
        page.call("Input.dispatchMouseEvent", type="mouseMoved", x=400 + 3 * step, y=400 + step, **mouse)
    page.settle()
    frames = page.value("frames_")
    busy = (processor() - busy) / len(frames)
    page.call("Input.dispatchMouseEvent", type="mouseReleased", x=520, y=440, clickCount=1, **mouse)
    begin = time.perf_counter()
    page.type("#search", "C")
    searched = time.perf_counter() - begin
    return {"opened": opened, "heap": heap, "frames": frames, "busy": busy, "searched": searched}


def processor() -> float:
    """Seconds of processor of all parts of the browser."""
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(of_child.user + of_child.system for of_child in times)


def main(argv=None):
    args = parse_args(argv)
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    for n in args.receptors:
        with tempfile.TemporaryDirectory() as name:
            folder = args.keep / f"{n}" if args.keep else Path(name)
            folder.mkdir(parents=True, exist_ok=True)
            # By another process: a child's highest memory counts that of its parent, until it has started.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                pool.submit(write_run, n, folder).result()
            begin = time.perf_counter()
            options = [f"--{part}={folder / part}.parquet" for part in ("cells", "receptors", "embeddings")]
            options += [f"--page={ROOT / 'assets/report'}", f"--cpus={args.cpus}"]
            process = subprocess.Popen(
                [sys.executable, ROOT / "bin/map_receptors.py", *options, f"--outdir={folder}"]
            )
            _, status, usage = os.wait4(process.pid, 0)
            if status:
                sys.exit("the script failed")
            wall, processor = time.perf_counter() - begin, usage.ru_utime + usage.ru_stime
            shown = json.loads((folder / "map.qc.json").read_text())["shown"]
            numbers = (
                f"{n:,} | {shown:,} | {wall:.0f} | {processor:.0f} | {usage.ru_maxrss / 1024:,.0f}",
                f"{(folder / 'map.html').stat().st_size / 1e6:.1f}",
            )
            if browser.CHROMIUM is not None:
                with browser.opened(Path(name)) as page:
                    seen = looked_at(page, folder / "map.html", args.keep and folder / "map.png")
                frames, busy = seen["frames"], 1000 * seen["busy"]
                numbers += (
                    f"{seen['opened']:.1f} | {seen['heap']:.0f}",
                    f"{np.median(frames):.0f} | {max(frames):.0f} | {busy:.0f}",
                    f"{seen['searched']:.1f}",
                )
            print("| " + " | ".join(numbers) + " |", flush=True)


if __name__ == "__main__":
    main()
