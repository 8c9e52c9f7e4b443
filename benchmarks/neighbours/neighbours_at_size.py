#!/usr/bin/env python3
"""
All pairs within the radius of clusters, at several sizes: time and memory, and the same pairs by faiss.

Receptors and background are OLGA's; the radius is that of 0.01 neighbours by chance. Each row is a process of
its own. `--check` compares the pairs with all distances up to a size. faiss, if installed, searches the same
radius in IVF cells, in one process with its vectors; recall is the share of our pairs.

    python benchmarks/neighbours/neighbours_at_size.py --sizes 10000 100000 1000000 --chains paired beta
"""

import importlib.util
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime

runtime.limit_threads(2)
import numpy as np

from benchmarks.common import results
from benchmarks.common.timing import peak_memory

PART = 163_840  # receptors that are made at once


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--chains", nargs="+", default=["paired", "beta"])
    parser.add_argument("--background", type=int, default=10_000, help="receptors")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", type=int, default=100_000, help="largest size compared with all distances")
    parser.add_argument("--probed", type=int, nargs="*", default=[16, 64], help="cells that faiss searches")
    parser.add_argument("--folder", type=Path, help="of the vectors, which are kept")
    return parser.parse_args(argv)


def vectors(n: int, chains: str, seed: int, folder: Path) -> np.ndarray:
    """Return the vectors of OLGA's receptors; they are made once."""
    path = folder / f"{chains}_{n}_{seed}.npy"
    if not path.exists():
        from airrvec.core.chains import with_chains
        from airrvec.encoders.sceptr import Sceptr
        from airrvec.synthetic.synthesis import synthesise

        encoder = Sceptr("sceptr", threads=2)
        parts = [
            encoder.embed(with_chains(synthesise(min(PART, n - first), seed=seed, first=first), chains))
            for first in range(0, n, PART)
        ]
        np.save(path, np.concatenate(parts))
    return np.load(path)


def measured(function, *arguments):
    """Return a function's result, and its wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, time.perf_counter() - wall, time.process_time() - processor


def measure(n: int, chains: str, args, folder: Path) -> list[dict]:
    """Return the rows of one size."""
    from airrvec.repertoire.clustering import radius_by_chance
    from airrvec.search import radius_search
    from airrvec.search.lower_bounds import lower_bounds

    rows = []

    def add(search: str, seconds: list[float], **more) -> None:
        times = {"wall_s": seconds[0], "processor_s": seconds[1], "peak_MB": peak_memory()}
        rows.append({"chains": chains, "receptors": n, "search": search, "radius": radius, **times, **more})

    queries = vectors(max(args.sizes), chains, 1, folder)[:n].copy()
    background = vectors(args.background, chains, 420, folder)
    radius_by_chance(queries[:1000], background, 0.01, threads=args.threads)  # compiles
    radius, *seconds = measured(lambda: radius_by_chance(queries, background, 0.01, threads=args.threads))
    add("radius", seconds)
    (first, second, _), *seconds = measured(
        lambda: radius_search.pairs_within(queries, radius, threads=args.threads)
    )
    bounds = lower_bounds(queries, queries, radius, seed=radius_search.SEED)
    add("pairs", seconds, pairs=len(first), components=bounds.axes.shape[1])
    if n <= args.check:
        same, *seconds = measured(lambda: same_as_all(queries, radius, first, second, args.threads))
        add("all distances", seconds, same=same)
    if importlib.util.find_spec("faiss"):
        ours = first * n + second
        for probed in args.probed:
            pairs, *seconds = measured(lambda p=probed: faiss_pairs(queries, radius, p, args.threads))
            add(f"faiss IVF, {probed} cells", seconds, recall=np.isin(ours, pairs).mean())
    return rows


def same_as_all(queries, radius: float, first, second, threads: int) -> bool:
    """Return whether the pairs are those of an exact search of the 100 nearest of each receptor."""
    from airrvec.search import neighbours

    distances, rows = neighbours.nearest(queries, queries, 100, threads=threads, approximate_above=np.inf)
    near = distances <= np.float32(radius)
    query, column = np.nonzero(near & (rows > np.arange(len(queries))[:, None]))
    if near[:, -1].any():
        raise SystemExit("a receptor has more than 100 neighbours within the radius")
    expected = np.sort(query * len(queries) + rows[query, column])
    return np.array_equal(expected, first * len(queries) + second)


def faiss_pairs(queries, radius: float, n_probed: int, threads: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(threads)
    n, d = queries.shape
    n_cells = int(np.sqrt(n))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(d), d, n_cells)
    index.train(queries[:: max(1, n // (50 * n_cells))].copy())
    index.add(queries)
    index.nprobe = n_probed
    limits, _, rows = index.range_search(queries, radius**2)
    query = np.repeat(np.arange(n), np.diff(limits.astype(np.int64)))
    return (query * n + rows)[query < rows]


def main(argv=None):
    args = parse_args(argv)
    if not importlib.util.find_spec("faiss"):
        print("faiss is not installed: left out")
    table = results.Table(
        chains="", receptors=",", search="", radius=".3f", components="d", pairs=",", same="", recall=".3f",
        wall_s=".2f", processor_s=".2f", peak_MB=",.0f",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for chains in args.chains:
            for n in args.sizes:
                with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                    for row in pool.submit(measure, n, chains, args, folder).result():
                        table.add(**row)
    results.write(args, {"searches": table.rows}, ["numba", "faiss-cpu"])


if __name__ == "__main__":
    main()
