#!/usr/bin/env python3
"""
k nearest neighbours of random unit vectors in cells of their own, as embeddings have them: time and memory.

Wall time on a shared machine varies with other work; the seconds of processor are beside it. Memory is the
highest of the process, less what it took before the search.
"""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime

runtime.limit_threads(2)
from airrvec.search import neighbours

import numpy as np

from benchmarks.common import results
from benchmarks.common.material import unit_vectors
from benchmarks.common.timing import peak_memory


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--approximate", action="store_true", help="in cells, with the recall measured")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    references = unit_vectors(args.references, args.dimensions, 1)
    queries = unit_vectors(args.queries, args.dimensions, 2)
    neighbours.nearest(queries[:10], references[:100], args.k)  # compiles
    before, wall, processor = peak_memory(), time.perf_counter(), time.process_time()
    options = {"threads": args.threads, "approximate_above": 0 if args.approximate else np.inf}
    distances, _ = neighbours.nearest(queries, references, args.k, **options)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    table = results.Table(
        queries=",", references=",", k="d", threads="d", wall_s=".2f", processor_s=".2f",
        memory_MB=",.0f", queries_MB=",.0f", mean_distance=".3f",
    )  # fmt: skip
    table.add(
        **{name: getattr(args, name) for name in ("queries", "references", "k", "threads")},
        wall_s=wall,
        processor_s=processor,
        memory_MB=peak_memory() - before,
        queries_MB=queries.nbytes / 2**20,
        mean_distance=distances.mean(),
    )
    results.write(args, {"dimensions": args.dimensions, "searches": table.rows}, ["numba"])


if __name__ == "__main__":
    main()
