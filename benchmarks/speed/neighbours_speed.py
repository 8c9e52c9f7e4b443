#!/usr/bin/env python3
"""
Exact k-nearest neighbours, timed: random unit vectors in cells of their own, as embeddings have them.

Wall time on a shared machine says little; the seconds of processor are printed beside it. Memory is the
highest of the process, less what it took before the search.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime

runtime.limit_threads(2)
from airrvec.search import neighbours

import numpy as np


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=1_000_000)
    parser.add_argument("--references", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--approximate", action="store_true", help="in cells, with the recall measured")
    return parser.parse_args(argv)


def vectors(n: int, d: int, seed: int) -> np.ndarray:
    """Unit vectors about 1,000 centres."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((1000, d), np.float32)
    found = centres[rng.integers(1000, size=n)]
    found += rng.standard_normal((n, d), np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def peak() -> float:
    """Highest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(argv=None):
    args = parse_args(argv)
    references = vectors(args.references, args.dimensions, 1)
    queries = vectors(args.queries, args.dimensions, 2)
    neighbours.nearest(queries[:10], references[:100], args.k)  # compiles
    before, wall, processor = peak(), time.perf_counter(), time.process_time()
    limit = 0 if args.approximate else np.inf
    distances, _ = neighbours.nearest(
        queries, references, args.k, threads=args.threads, approximate_above=limit
    )
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(
        f"{args.queries:,} queries, {args.references:,} references, {args.dimensions} dimensions,"
        f" k = {args.k}, {args.threads} threads: {wall:.0f} s, {processor:.0f} s of processor"
        f" ({processor / args.threads:.0f} s a thread), {peak() - before:.0f} MB beside"
        f" {queries.nbytes / 2**20:.0f} MB of queries; mean distance {distances.mean():.3f}"
    )


if __name__ == "__main__":
    main()
