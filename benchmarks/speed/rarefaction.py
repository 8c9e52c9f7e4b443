#!/usr/bin/env python3
"""
Time and memory of the Hill numbers of a large sample, rarefied to a part of its reads.

Clone sizes follow a power law up to the largest clone.

    python benchmarks/rarefaction.py 1000000 10000000
"""

import argparse
import sys
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.repertoire import diversity

import numpy as np


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("receptors", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--largest", type=int, default=1_000_000, help="reads of the largest clone")
    parser.add_argument("--share", type=float, default=0.5, help="of the reads, that are drawn")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    print("| Receptors | Reads | Distinct sizes | Processor, s | Memory beside the counts, MB |")
    print("|---|---|---|---|---|")
    for n in args.receptors:
        rng = np.random.default_rng(n)
        counts = np.minimum(np.floor(rng.random(n) ** -1.1), args.largest).astype(np.int64)
        counts[0] = args.largest
        n_sizes, n_reads = len(np.unique(counts)), int(counts.sum())
        begin = time.process_time()
        diversity.rarefied_hill_numbers(counts, round(args.share * n_reads))
        seconds = time.process_time() - begin
        tracemalloc.start()
        diversity.rarefied_hill_numbers(counts, round(args.share * n_reads))
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"| {n:,} | {n_reads:,} | {n_sizes:,} | {seconds:.1f} | {peak:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
