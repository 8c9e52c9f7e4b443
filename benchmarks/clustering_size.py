#!/usr/bin/env python3
"""
Do clusters of labelled receptors depend on the rest of the run?

1. Labelled receptors beside unconnected copies of their graph of SCEPTR's neighbours. A run of k copies has
   k times as many receptors, and no neighbours between copies. The measures (`clustering`) are those of the
   first copy.
2. Labelled receptors in a run with OLGA's, as the pipeline clusters them: the radius is that of a given
   chance, from 10,000 other receptors of OLGA. Retention is the share of labelled receptors in a cluster with
   another one; the last column is the share of OLGA's receptors among all clustered ones.

    python benchmarks/clustering_size.py cells.parquet receptors.parquet
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "bin"))

from airrvec.repertoire import clustering
from airrvec.synthetic.background import background

import numpy as np
from scipy import sparse

from clustering import quality
from clustering_constructions import numbered
from clustering_partitions import PARTITIONS, Graph
from clustering_scores import SCORES, Material

COPIES = (1, 10, 100)
SHARE = 0.35  # of receptors that have a neighbour, in the copies
ADDED = (0, 10_000, 50_000)  # receptors of OLGA in the run
SHOWN = ("components", "modularity 1", *(f"Potts {r:g}" for r in (0.0002, 0.0005, 0.001, 0.003, 0.03)))


def show_copies(material: Material, partitions: list[str], seed: int) -> None:
    scores = SCORES["SCEPTR"](material).copy()
    np.fill_diagonal(scores, np.inf)
    graph = Graph.within(scores, np.quantile(scores.min(axis=1), SHARE), seed)
    print("| method | copies | receptors | neighbours | clusters | largest | purity | consistency | s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in partitions:
        for k in COPIES:
            copies, started = graph.copies(k), time.perf_counter()
            label = PARTITIONS[name](copies)
            seconds = time.perf_counter() - started
            found = quality(numbered(label[: graph.n]), material.labels)
            numbers = f"{found['purity']:.3f} | {found['consistency']:.3f} | {seconds:.1f}"
            size = f"{copies.n:,} | {len(copies.rows):,} | {found['clusters']} | {found['largest']}"
            print(f"| {name} | {k} | {size} | {numbers} |", flush=True)


def show_added(material: Material, partitions: list[str], chance: float, seed: int) -> None:
    encoder = material.encoders["SCEPTR"]
    labelled, to_background = encoder.embed(material.receptors), encoder.embed(material.others)
    others = background(
        None,
        max(ADDED),
        species="homosapiens",
        seed=seed + 1,
        leave_out=material.receptors["clonotype_id"],
    )
    added = encoder.embed(others)
    columns = ("OLGA's", "radius", "method", "largest", "retention", "purity", "consistency", "OLGA's share")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    n = len(labelled)
    for more in ADDED:
        vectors = np.concatenate([labelled, added[:more]])
        radius = clustering.radius_by_chance(vectors, to_background, chance)
        half = sparse.triu(clustering.neighbourhood(vectors, to_background, radius).graph).tocoo()
        graph = Graph(len(vectors), half.row, half.col, np.zeros(half.nnz, np.float32), radius, seed)
        for name in partitions:
            label = numbered(PARTITIONS[name](graph))
            found = quality(numbered(np.where(label[:n] < 0, -1 - np.arange(n), label[:n])), material.labels)
            largest = np.bincount(label[label >= 0]).max()
            noise = (label[n:] >= 0).sum() / (label >= 0).sum()
            numbers = " | ".join(f"{found[key]:.3f}" for key in ("retention", "purity", "consistency"))
            print(f"| {more:,} | {radius:.3f} | {name} | {largest:,} | {numbers} | {noise:.2f} |", flush=True)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cells", type=Path)
    parser.add_argument("receptors", type=Path)
    parser.add_argument("--partitions", nargs="+", default=SHOWN)
    parser.add_argument("--chance", type=float, default=0.01)
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--seed", type=int, default=420)
    args = parser.parse_args(argv)
    material = Material(args.cells, args.receptors, exclude=args.exclude_references, seed=args.seed)
    show_copies(material, args.partitions, args.seed)
    show_added(material, args.partitions, args.chance, args.seed)


if __name__ == "__main__":
    main()
