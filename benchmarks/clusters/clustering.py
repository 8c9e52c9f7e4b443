#!/usr/bin/env python3
"""
Clusters of labelled receptors by SCEPTR's vectors, TCRdist and equal CDR3s: retention, purity, consistency.

The measures are those of clusTCR (Valkiers et al. 2021, Bioinformatics 37, 4865): retention is the share of
receptors in clusters of two or more; purity the share of labels in clusters that are those of the
cluster's commonest epitope; consistency the share left if each epitope may have one cluster alone, and each
cluster one epitope. Largest is the number of receptors of the largest cluster.

    python benchmarks/clusters/clustering.py cells.parquet receptors.parquet
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec import encoders
from airrvec.core import tables
from airrvec.evaluation import fewshot
from airrvec.repertoire import clustering
from airrvec.synthetic.background import background

import numpy as np
from scipy import sparse

from benchmarks.common import results

CHANCES = (0.003, 0.01, 0.03, 0.1, 0.3)
TCRDIST_RADII = (30, 45, 60, 75, 90, 105)
FIELDS = ("tra_junction_aa", "trb_junction_aa")
BLOCK = 1000


def quality(cluster: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """
    The measures of a clustering.

    Parameters
    ----------
    cluster : ndarray of int, shape (n,)
        -1 of a receptor that is in none.
    labels : ndarray of bool, shape (n, n_epitopes)
        Which epitopes each receptor has.
    """
    inside = np.flatnonzero(cluster >= 0)
    if not len(inside):
        return {"clusters": 0, "largest": 0, "retention": 0.0, "purity": np.nan, "consistency": np.nan}
    counts = np.zeros((cluster.max() + 1, labels.shape[1]), np.int64)
    np.add.at(counts, cluster[inside], labels[inside].astype(np.int64))
    n_labels, best = counts.sum(), counts.max(axis=1).sum()
    rows, columns = np.nonzero(counts)
    matched, free_row, free_column = 0, np.ones(len(counts), bool), np.ones(labels.shape[1], bool)
    for place in np.argsort(-counts[rows, columns], kind="stable"):  # greedily, as clusTCR does
        row, column = rows[place], columns[place]
        if free_row[row] and free_column[column]:
            matched += counts[row, column]
            free_row[row] = free_column[column] = False
    return {
        "clusters": len(counts),
        "largest": int(np.bincount(cluster[inside]).max()),
        "retention": len(inside) / len(cluster),
        "purity": best / n_labels,
        "consistency": matched / n_labels,
    }


def within(encoder, receptors, radius: float) -> sparse.csr_array:
    """Distances of the receptors whose distance is at most a radius, plus 1, by blocks."""
    rows = encoders.distance_rows(encoder, receptors)
    blocks = []
    for start in range(0, len(receptors), BLOCK):
        query_rows = np.arange(start, min(start + BLOCK, len(receptors)))
        distances = rows(query_rows).astype(np.float32) + 1
        distances[distances > radius + 1] = 0
        distances[np.arange(len(query_rows)), query_rows] = 0
        blocks.append(sparse.csr_array(distances))
    return sparse.vstack(blocks, format="csr")


def equal(receptors, fields) -> np.ndarray:
    """Clusters of receptors that are equal in some fields."""
    group = receptors.select(list(fields)).to_pandas().groupby(list(fields)).ngroup().to_numpy()
    return np.where(np.bincount(group)[group] > 1, np.unique(group, return_inverse=True)[1], -1)


def compact(cluster: np.ndarray) -> np.ndarray:
    """The same clusters, numbered without gaps."""
    numbers = np.unique(cluster[cluster >= 0])
    return np.where(cluster >= 0, np.searchsorted(numbers, cluster), -1)


def main(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("cells", type=Path, help="labelled cells, of a run or of normalise_receptors.py")
    parser.add_argument("receptors", type=Path)
    parser.add_argument("--model", default="sceptr")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--seed", type=int, default=420)
    args = parser.parse_args(argv)
    labelled = fewshot.select_labelled(
        tables.read(args.cells),
        tables.read(args.receptors),
        species="homosapiens",
        exclude_references=args.exclude_references,
    )
    receptors = labelled.receptors
    labels = np.zeros((len(receptors), len(labelled.epitopes)), bool)
    for column, rows in enumerate(labelled.epitopes.values()):
        labels[rows, column] = True
    print(f"{len(receptors):,} complete receptors of {len(labelled.epitopes)} epitopes\n")
    table = results.Table(
        distances="", chance="g", radius=".3f", method="", clusters=",", largest=",",
        retention=".3f", purity=".3f", consistency=".3f",
    )  # fmt: skip

    def report(cluster: np.ndarray, **about) -> None:
        table.add(**about, **quality(cluster, labels))

    for name, fields in (("equal CDR3β", FIELDS[1:]), ("equal CDR3α and CDR3β", FIELDS)):
        report(compact(equal(receptors, fields)), distances=name)
    tcrdist = encoders.load("tcrdist")
    nearest = within(tcrdist, receptors, max(TCRDIST_RADII))
    for radius in TCRDIST_RADII:
        graph = nearest.copy()
        graph.data = (graph.data <= radius + 1).astype(np.float32)
        graph.eliminate_zeros()
        for method in clustering.METHODS:
            cluster = clustering.assign_clusters(graph, method, seed=args.seed)
            report(cluster, distances="TCRdist", radius=radius, method=method)
    encoder = encoders.load(args.model)
    vectors = encoder.embed(receptors)
    background_vectors = encoder.embed(
        background(None, species="homosapiens", seed=args.seed, leave_out=receptors["clonotype_id"])
    )
    for chance in CHANCES:
        limit = clustering.radius_by_chance(vectors, background_vectors, chance)
        graph = clustering.neighbourhood(vectors, background_vectors, limit).graph
        for method in clustering.METHODS:
            cluster = clustering.assign_clusters(graph, method, seed=args.seed)
            title = encoders.Titles()[args.model]
            report(cluster, distances=title, chance=chance, radius=limit, method=method)
    sizes = {"receptors": len(receptors), "epitopes": len(labelled.epitopes)}
    results.write(args, {**sizes, "clusters": table.rows}, ["igraph"])


if __name__ == "__main__":
    main()
