#!/usr/bin/env python3
"""
Measures of the package clustereval for constructions at equal retention, among all labelled receptors.

Each receptor in no cluster is a cluster by itself; one with two epitopes counts twice. clustereval runs
in an environment of its own (`clustering_peers`).

    python benchmarks/clustering_eval.py cells.parquet receptors.parquet --environments peers
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "bin"))

import numpy as np
import pandas as pd

from clustering import quality
from clustering_constructions import CANDIDATES, PEERS, numbered
from clustering_partitions import PARTITIONS, Graph
from clustering_peers import run
from clustering_scores import SCORES, Material

SHARE = 0.35  # of receptors that have a neighbour
NAMES = ("homogeneity", "parsimony", "Q measure", "pair sensitivity", "pair specificity")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cells", type=Path)
    parser.add_argument("receptors", type=Path)
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--seed", type=int, default=420)
    args = parser.parse_args(argv)
    material = Material(args.cells, args.receptors, exclude=args.exclude_references, seed=args.seed)
    receptor, epitope = np.nonzero(material.labels)
    print(f"| construction | retention | purity | consistency | {' | '.join(NAMES)} |\n|{'---|' * 9}")
    for name in (*PEERS, *CANDIDATES):
        score, partition = name.split(": ")
        scores = SCORES[score](material).copy()
        np.fill_diagonal(scores, np.inf)
        graph = Graph.within(scores, np.quantile(scores.min(axis=1), SHARE), args.seed)
        cluster = numbered(PARTITIONS[partition](graph))
        found = quality(cluster, material.labels)
        table = pd.DataFrame({"epitope": epitope, "cluster": cluster[receptor]})
        values = [found["retention"], found["purity"], found["consistency"]]
        values += list(run("clustereval", table, args.environments))
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in values)} |", flush=True)


if __name__ == "__main__":
    main()
