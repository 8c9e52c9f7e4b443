#!/usr/bin/env python3
"""
Pairs of β junctions within an edit distance, by symscan (symmetric deletion), which must be installed.

The junctions are those of the first receptors of a table. Memory is the highest of the process.

    python benchmarks/edit_neighbours.py receptors.parquet --receptors 100000 1000000
"""

import argparse
import importlib.metadata
import resource
import time
from pathlib import Path

import pyarrow.parquet as pq


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", type=Path, help="receptors of a run")
    parser.add_argument("--receptors", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--distances", type=int, nargs="+", default=[1, 2])
    return parser.parse_args(argv)


def main(argv=None):
    import symscan

    args = parse_args(argv)
    column = pq.read_table(args.table, columns=["trb_junction_aa"])["trb_junction_aa"]
    print(f"symscan {importlib.metadata.version('symscan')}")
    print("| receptors | junctions | edit distance | pairs | wall, s | processor, s | peak, MB |")
    print("|---|---|---|---|---|---|---|")
    for n in args.receptors:
        junctions = column.slice(0, n).drop_null().unique().to_pylist()
        for distance in args.distances:
            wall, processor = time.perf_counter(), time.process_time()
            first, _, _ = symscan.get_neighbors_within(junctions, max_distance=distance)
            seconds = f"{time.perf_counter() - wall:.1f} | {time.process_time() - processor:.1f}"
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"| {n:,} | {len(junctions):,} | {distance} | {len(first):,} | {seconds} | {peak:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
