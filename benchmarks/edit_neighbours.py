#!/usr/bin/env python3
"""
Pairs of β junctions within an edit distance, by symscan (symmetric deletion) and seqtree (a search tree).

Both must be installed. The junctions are those of the first receptors of a table, each once. Each row is a
process of its own, on one thread, with a limit of time; memory is the highest of the process.

    python benchmarks/edit_neighbours.py receptors.parquet --receptors 100000 1000000
"""

import argparse
import importlib.metadata
import multiprocessing
import resource
import time
from pathlib import Path

import pyarrow.parquet as pq


def symscan_pairs(junctions: list[str], distance: int) -> int:
    import symscan

    return len(symscan.get_neighbors_within(junctions, max_distance=distance)[0])


def seqtree_pairs(junctions: list[str], distance: int) -> int:
    import numpy as np
    import seqtree

    index = seqtree.Index.build(junctions, alphabet="aa")
    limits = dict.fromkeys(("max_subs", "max_ins", "max_dels", "max_total_edits"), distance)
    found = 0

    def count(start: int, stop: int, hits) -> None:
        nonlocal found
        hits = np.asarray(hits)
        found += int((hits[:, 0] < hits[:, 1]).sum())

    index.search_batch_consume(junctions, seqtree.SearchParams(**limits), count, threads=1)
    return found


PROGRAMS = {"symscan": symscan_pairs, "seqtree": seqtree_pairs}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", type=Path, help="receptors of a run")
    parser.add_argument("--receptors", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--distances", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--minutes", type=float, default=5, help="limit of one row")
    return parser.parse_args(argv)


def measure(program: str, table: Path, n: int, distance: int) -> None:
    """Print one row."""
    column = pq.read_table(table, columns=["trb_junction_aa"])["trb_junction_aa"]
    junctions = column.slice(0, n).drop_null().unique().to_pylist()
    wall, processor = time.perf_counter(), time.process_time()
    pairs = PROGRAMS[program](junctions, distance)
    seconds = f"{time.perf_counter() - wall:.1f} | {time.process_time() - processor:.1f}"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    row = f"| {n:,} | {len(junctions):,} | {distance} | {program} | {pairs:,} | {seconds} | {peak:,.0f} |"
    print(row, flush=True)


def main(argv=None):
    args = parse_args(argv)
    print(", ".join(f"{name} {importlib.metadata.version(name)}" for name in PROGRAMS), "\n")
    print("| receptors | junctions | edit distance | program | pairs | wall, s | processor, s | peak, MB |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for n in args.receptors:
        for distance in args.distances:
            for program in PROGRAMS:
                process = multiprocessing.get_context("spawn").Process(
                    target=measure, args=(program, args.table, n, distance)
                )
                process.start()
                process.join(60 * args.minutes)
                if process.is_alive():
                    process.kill()
                    process.join()
                    late = f"more than {args.minutes:g} min"
                    print(f"| {n:,} | | {distance} | {program} | {late} | | | |", flush=True)


if __name__ == "__main__":
    main()
