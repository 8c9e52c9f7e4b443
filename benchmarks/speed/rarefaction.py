#!/usr/bin/env python3
"""
Time and memory of the Hill numbers of a large sample, rarefied to a part of its reads.

Clone sizes follow a power law up to the largest clone.

    python benchmarks/speed/rarefaction.py 1000000 10000000
"""

import sys
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.repertoire import diversity

import numpy as np

from benchmarks.common import results


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("receptors", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--largest", type=int, default=1_000_000, help="reads of the largest clone")
    parser.add_argument("--share", type=float, default=0.5, help="of the reads, that are drawn")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    table = results.Table(receptors=",", reads=",", clone_sizes=",", processor_s=".2f", memory_MB=",.1f")
    for n in args.receptors:
        rng = np.random.default_rng(n)
        counts = np.minimum(np.floor(rng.random(n) ** -1.1), args.largest).astype(np.int64)
        counts[0] = args.largest
        n_reads = int(counts.sum())
        begin = time.process_time()
        diversity.rarefied_hill_numbers(counts, round(args.share * n_reads))
        seconds = time.process_time() - begin
        tracemalloc.start()
        diversity.rarefied_hill_numbers(counts, round(args.share * n_reads))
        peak = tracemalloc.get_traced_memory()[1] / 1e6  # beside the counts
        tracemalloc.stop()
        sizes = len(np.unique(counts))
        table.add(receptors=n, reads=n_reads, clone_sizes=sizes, processor_s=seconds, memory_MB=peak)
    results.write(args, {"samples": table.rows})


if __name__ == "__main__":
    main()
