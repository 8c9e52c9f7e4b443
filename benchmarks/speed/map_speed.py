#!/usr/bin/env python3
"""
The map of many receptors: what it takes to make the page, and to look at it in a headless Chromium.

Vectors are random ones in cells of their own, genes and junctions random words. The script is
`map_receptors.py` itself. In the browser: the time until the points stand, and the time between frames while
the mouse drags the map. Without a graphics card, as here, Chromium paints by the processor; without Chromium
the first columns alone are measured.

    python benchmarks/speed/map_speed.py 10000 50000 1000000
"""

import json
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
from airrvec.model import weights

import numpy as np
import psutil
import pyarrow as pa

import browser
from benchmarks.common import results, timing
from benchmarks.common.material import unit_vectors

PART = 250_000  # receptors that are made at once
SAMPLES = 8
EPITOPES = 40
MOVES = 40
COLUMNS = {
    **dict.fromkeys(("receptors", "points"), ","),
    **{"wall_s": ".1f", "processor_s": ".1f", "memory_MB": ",.0f", "page_MB": ".1f"},
    **{"open_s": ".1f", "heap_MB": ".0f", "frame_ms": ".0f", "worst_frame_ms": ".0f"},
    **{"processor_of_frame_ms": ".0f", "search_s": ".1f"},
}
# Collects the time between frames from now on.
WATCH = """(() => { window.frames_ = []; let last;
  const next = now => { if (last) frames_.push(now - last); last = now; requestAnimationFrame(next); };
  requestAnimationFrame(next); })()"""


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("receptors", type=int, nargs="*", default=[10_000, 50_000, 1_000_000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="folder of the pages and screenshots")
    return parser.parse_args(argv)


def write_run(n: int, folder: Path) -> None:
    """Receptors, vectors and cells of a run that never was, part by part."""
    names, model = ("receptors", "embeddings", "cells"), weights.load("sceptr")
    with ExitStack() as stack:
        writers = {}
        for number, first in enumerate(range(0, n, PART)):
            for name, table in zip(names, _part(number, first, min(PART, n - first)), strict=True):
                if name not in writers:
                    path, metadata = folder / f"{name}.parquet", model.vector_model.metadata()
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
    for locus, locus_letters in zip(schema.LOCI, letters, strict=True):
        for segment in "VJ":
            genes = [f"{locus}{segment}{i}" for i in rng.integers(1, 31, n)]
            words[schema.field(locus, f"{segment.lower()}_call")] = genes
        words[schema.field(locus, "junction_aa")] = ["CA" + "".join(row) + "F" for row in locus_letters]
    receptors = {field.name: words.get(field.name, pa.nulls(n, field.type)) for field in schema.RECEPTORS}
    labels = [f"EPITOPE{i}" if i < EPITOPES else None for i in rng.geometric(0.02, n)]
    cells = {
        "sample_id": [f"sample_{i}" for i in rng.integers(SAMPLES, size=n)],
        "receptor_id": ids,
        "clonotype_id": ids,
        "epitope": labels,
        "abundance": np.ones(n, np.int64),
        "count_unit": ["cells"] * n,
    }
    return (
        pa.table(receptors, schema=schema.RECEPTORS),
        pa.table([ids, *unit_vectors(n, 64, number + 1).T], names=["receptor_id", *schema.dimensions(64)]),
        pa.table(cells),
    )


def measure_page(page: browser.Page, path: Path, picture: Path | None) -> dict:
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
    return {
        **{"open_s": opened, "heap_MB": heap, "search_s": searched, "processor_of_frame_ms": 1000 * busy},
        **{"frame_ms": float(np.median(frames)), "worst_frame_ms": max(frames)},
    }


def processor() -> float:
    """Seconds of processor of all parts of the browser."""
    times = [child.cpu_times() for child in psutil.Process().children(recursive=True)]
    return sum(child_times.user + child_times.system for child_times in times)


def main(argv=None):
    args = parse_args(argv)
    table = results.Table(**COLUMNS)
    for n in args.receptors:
        with tempfile.TemporaryDirectory() as name:
            folder = args.keep / f"{n}" if args.keep else Path(name)
            folder.mkdir(parents=True, exist_ok=True)
            # By another process: a child's highest memory counts that of its parent, until it has started.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                pool.submit(write_run, n, folder).result()
            common = [f"--threads={args.threads}", f"--outdir={folder}"]
            options = [f"--embeddings={folder / 'embeddings'}.parquet", *common]
            used = timing.program(sys.executable, ROOT / "bin/place_receptors.py", *options)
            options += [f"--{part}={folder / part}.parquet" for part in ("cells", "receptors")]
            options += [f"--page={ROOT / 'assets/report'}", f"--places={folder / 'map.parquet'}"]
            drawn = timing.program(sys.executable, ROOT / "bin/map_receptors.py", *options)
            used = {name: used[name] + drawn[name] for name in ("wall_s", "processor_s")} | {
                "memory_MB": max(used["memory_MB"], drawn["memory_MB"])
            }
            shown = json.loads((folder / "map.qc.json").read_text())["shown"]
            seen = {"page_MB": (folder / "map.html").stat().st_size / 1e6}
            if browser.CHROMIUM is not None:
                with browser.opened(Path(name)) as page:
                    seen |= measure_page(page, folder / "map.html", args.keep and folder / "map.png")
        table.add(receptors=n, points=shown, **used, **seen)
    results.write(args, {"maps": table.rows})


if __name__ == "__main__":
    main()
