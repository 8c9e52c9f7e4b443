#!/usr/bin/env python3
"""
What each way of embedding changes: vectors, nearest neighbours, and the few-shot AUROC.

The reference is the ``sceptr`` package, in float32 on the CPU. Compared with it: the CPU's path and
torch's path, on a GPU where there is one, both in float32 and bf16.
"""

import logging
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.core import devices
from airrvec.evaluation import fewshot
from airrvec.input import normalise, reading
from airrvec.model import transformer, weights
from airrvec.model.cpu import inference
from airrvec.model.tokens import tokenise

import numpy as np
import sceptr
import torch
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

from benchmarks.common import results
from benchmarks.common.material import SCEPTR_COLUMNS


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("table", type=Path, help="labelled receptors, in any format that airrvec reads")
    parser.add_argument("--k", type=int, default=200, help="references of an epitope")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--positives", type=int, default=100, help="least receptors of an epitope to test")
    return parser.parse_args(argv)


def vectors_of(receptors) -> dict[str, np.ndarray]:
    """Name of a way → vectors, shape (n_receptors, 64)."""
    loaded = weights.load("sceptr")
    tokens = tokenise(receptors, loaded.config.loops)
    frame = receptors.to_pandas()[list(SCEPTR_COLUMNS)].rename(columns=SCEPTR_COLUMNS)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    networks = {
        f"airrvec, CPU, {precision}": inference.Network(loaded.config, loaded.state, precision)
        for precision in (("fp32", "bf16") if devices.has_bf16() else ("fp32",))
    }
    return {
        "sceptr": sceptr.variant.default().calc_vector_representations(frame),
        **{name: inference.embed(network, tokens) for name, network in networks.items()},
        f"airrvec, torch on {device}, fp32": transformer.embed(loaded.encoder, tokens, device=device),
        f"airrvec, torch on {device}, bf16": transformer.embed(
            loaded.encoder, tokens, device=device, precision="bf16"
        ),
    }


def auroc(distances: np.ndarray, labelled, args) -> float:
    """Mean over epitopes and splits, by the nearest of k references."""
    splits, _ = fewshot.plan_splits(
        labelled, ks=[args.k], n_splits=args.splits, min_positives=args.positives, seed=420
    )
    n = len(distances)
    aurocs: dict[str, list[float]] = {}
    for split in splits:
        positive = np.isin(np.arange(n), labelled.epitopes[split.epitope])
        for references in split.references:
            tested = np.ones(n, bool)
            tested[references] = False
            score = -distances[references].min(axis=0)
            aurocs.setdefault(split.epitope, []).append(roc_auc_score(positive[tested], score[tested]))
    return float(np.mean([np.mean(scores) for scores in aurocs.values()]))


def main(argv=None):
    args = parse_args(argv)
    warnings.simplefilter("ignore")
    logging.disable()
    chains = reading.open_chains(args.table)
    read = normalise.normalise(chains, sample_id="bench", species="homosapiens")
    labelled = fewshot.select_labelled(
        cells=read.cells, receptors=read.receptors, species="homosapiens", exclude_references=None
    )
    ways = vectors_of(labelled.receptors)
    reference = ways["sceptr"]
    print(f"{len(reference):,} receptors, {args.splits} splits, k = {args.k}")
    table = results.Table(
        way="", largest_distance=".1e", other_neighbour=".3%", auroc=".4f", auroc_difference="+.1e"
    )
    for name, vectors in ways.items():
        distances = cdist(vectors, vectors).astype(np.float32)
        value = auroc(distances, labelled, args)
        np.fill_diagonal(distances, np.inf)
        nearest = distances.argmin(axis=1)
        if name == "sceptr":
            expected, first = distances.min(axis=1), value
            true = cdist(reference, reference).astype(np.float32)
        # Another neighbour that is as near as the first, for the reference, is none.
        changed = true[np.arange(len(true)), nearest] > expected * (1 + 1e-6) + 1e-7
        table.add(
            way=name,
            largest_distance=np.linalg.norm(vectors - reference, axis=1).max(),
            other_neighbour=changed.mean(),
            auroc=value,
            auroc_difference=value - first,
        )
    figures = {"receptors": len(reference), "k": args.k, "splits": args.splits, "ways": table.rows}
    results.write(args, figures, ["sceptr", "torch", "numba"])


if __name__ == "__main__":
    main()
