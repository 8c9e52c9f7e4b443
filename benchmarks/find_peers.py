#!/usr/bin/env python3
"""
The search of `airrvec find` beside faiss and usearch: build, size, 10,000 queries, recall.

Vectors are those that `find_speed.py` made in its folder. Each way runs in a process of its own and keeps its
index in a file, which the queries read again. A search setting is tried in several values, for a fair choice.
"""

import argparse
import multiprocessing
import os
import resource
import shutil
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import runtime

runtime.limit_threads(2)
from airrvec.encoders.sceptr import Sceptr
from airrvec.search import neighbours, store

import numpy as np

from find_speed import SEED_OF_QUERIES, beta_receptors

K, N_CELLS, N_EXACT = 10, 4096, 1000
PROBED = (20, 41, 82)  # cells: .5, 1 and 2 % of them
EF = (64, 128, 256)  # candidates of a graph


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="of find_speed.py")
    parser.add_argument("--parts", type=int, default=1, help="of a million receptors each")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    return parser.parse_args(argv)


def vectors(folder: Path, n_parts: int) -> np.ndarray:
    return np.concatenate([np.load(folder / f"part_{number:02d}.npy") for number in range(n_parts)])


def airrvec_build(references: np.ndarray, target: Path) -> None:
    background = references[:100_000]
    centres = store.cell_centres(background, N_CELLS, seed=1, threads=2)
    target.mkdir()
    cell = store.cells_of(references, centres, threads=2)
    store.write_segment(target, references, np.arange(len(references)), cell, N_CELLS)
    np.save(target / "centres.npy", centres)


def airrvec_search(queries: np.ndarray, target: Path):
    segment = store.Segment(target, queries.shape[1], "")
    place = store.Store([segment], [len(segment)], np.load(target / "centres.npy"))
    for probed in PROBED:
        store.CANDIDATES, store.LEAST_SHARE = 0, probed / N_CELLS
        yield f"{probed} cells", lambda: store.nearest(place, queries, K, threads=2)[1]


def ivf_build(references: np.ndarray, target: Path) -> None:
    import faiss

    quantizer = faiss.IndexFlatL2(references.shape[1])
    index = faiss.IndexIVFFlat(quantizer, references.shape[1], N_CELLS)
    index.train(references[:: max(1, len(references) // (40 * N_CELLS))])  # faiss wants 39 a cell
    index.add(references)
    faiss.write_index(index, str(target))


def ivf_search(queries: np.ndarray, target: Path):
    import faiss

    faiss.omp_set_num_threads(2)
    index = faiss.read_index(str(target), faiss.IO_FLAG_MMAP)
    for probed in PROBED:
        index.nprobe = probed
        yield f"{probed} cells", lambda: index.search(queries, K)[1]


def hnsw_build(references: np.ndarray, target: Path) -> None:
    import faiss

    faiss.omp_set_num_threads(2)
    index = faiss.IndexHNSWFlat(references.shape[1], 16)
    index.hnsw.efConstruction = 100
    index.add(references)
    faiss.write_index(index, str(target))


def hnsw_search(queries: np.ndarray, target: Path):
    import faiss

    faiss.omp_set_num_threads(2)
    index = faiss.read_index(str(target))
    for ef in EF:
        index.hnsw.efSearch = ef
        yield f"ef {ef}", lambda: index.search(queries, K)[1]


def usearch_build(references: np.ndarray, target: Path) -> None:
    from usearch.index import Index

    index = Index(ndim=references.shape[1], metric="l2sq", connectivity=16, expansion_add=100, dtype="f32")
    index.add(np.arange(len(references)), references, threads=2)
    index.save(str(target))


def usearch_search(queries: np.ndarray, target: Path):
    from usearch.index import Index

    index = Index.restore(str(target), view=True)
    for ef in EF:
        index.expansion_search = ef
        yield f"ef {ef}", lambda: index.search(queries, K, threads=2).keys.astype(np.int64)


WAYS = {
    "airrvec": (airrvec_build, airrvec_search),
    "faiss IVF": (ivf_build, ivf_search),
    "faiss HNSW": (hnsw_build, hnsw_search),
    "usearch HNSW": (usearch_build, usearch_search),
}


def timed(call) -> tuple[float, float, object]:
    wall, processor = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - wall, time.process_time() - processor, result


def memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def build(way: str, folder: Path, n_parts: int, target: Path) -> None:
    references = vectors(folder, n_parts)
    wall, processor, _ = timed(lambda: WAYS[way][0](references, target))
    size = sum(p.stat().st_size for p in (target.rglob("*") if target.is_dir() else [target])) / 1e9
    print(f"| {way} | build | {wall:.1f} | {processor:.1f} | {memory():.2f} | {size:.2f} | |", flush=True)


def search(way: str, target: Path, queries: np.ndarray, truth: Path, folder: Path, n_parts: int) -> None:
    parts = [np.load(folder / f"part_{number:02d}.npy", mmap_mode="r") for number in range(n_parts)]
    bounds = np.cumsum([0, *map(len, parts)])
    limit = np.load(truth)[:, -1:] * (1 + 1e-6)
    _warm_up()
    for setting, call in WAYS[way][1](queries, target):
        wall, processor, rows = timed(call)
        part = np.searchsorted(bounds, rows[:N_EXACT], side="right") - 1
        found = [
            parts[p][row - bounds[p]] for p, row in zip(part.ravel(), rows[:N_EXACT].ravel(), strict=True)
        ]
        found = np.reshape(found, (*part.shape, -1))
        distances = np.sqrt(((queries[:N_EXACT, None] - found) ** 2).sum(2))
        recall = (distances <= limit).mean()
        print(
            f"| {way} | {setting} | {wall:.2f} | {processor:.2f} | {memory():.2f} | | {recall:.4f} |",
            flush=True,
        )


def _warm_up() -> None:
    """Compile, or read what was compiled, before time is taken."""
    some = np.eye(64, dtype=np.float32)
    neighbours.nearest(some, some, 2)


def exact(folder: Path, n_parts: int, queries: np.ndarray, truth: Path) -> None:
    """Write the true distances of the first queries."""
    best = np.full((N_EXACT, K), np.inf, np.float32)
    for number in range(n_parts):
        part = np.load(folder / f"part_{number:02d}.npy")
        found, _ = neighbours.nearest(queries[:N_EXACT], part, K, threads=2, approximate_above=np.inf)
        best = np.sort(np.concatenate([best, found], axis=1), axis=1)[:, :K]
    np.save(truth, best)


def apart(function, *arguments) -> None:
    """Call a function in a process of its own."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        print(f"ended with {process.exitcode}", flush=True)


def main(argv=None):
    args = parse_args(argv)
    target, truth = args.folder / "peer_index", args.folder / "truth.npy"
    receptors = beta_receptors(args.queries, SEED_OF_QUERIES).slice(0, args.queries)
    queries = Sceptr("sceptr", threads=2).embed(receptors)
    apart(exact, args.folder, args.parts, queries, truth)
    print(f"load {os.getloadavg()[0]:.1f}\n")
    print("| Way | Step | Wall, s | Processor, s | Memory, GB | Size, GB | Recall |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for way in args.ways:
        apart(build, way, args.folder, args.parts, target)
        apart(search, way, target, queries, truth, args.folder, args.parts)
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
    truth.unlink()


if __name__ == "__main__":
    main()
