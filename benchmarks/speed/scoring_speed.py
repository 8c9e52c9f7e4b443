#!/usr/bin/env python3
"""Seconds to score all few-shot splits of the epitopes that reach the largest k, for some encoders."""

import dataclasses
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime

import numpy as np
import pyarrow as pa

from benchmarks.common import results
from benchmarks.common.timing import peak_memory


def grown(labelled, n: int):
    """As many receptors, the further ones made by exchanging β chains: they bind no epitope."""
    rng = np.random.default_rng(0)
    receptors, n_more = labelled.receptors, n - len(labelled.receptors)
    alphas, betas = (rng.integers(0, len(receptors), n_more) for _ in range(2))
    further = [
        pa.array([f"made_{number}" for number in range(n_more)])
        if field.name == "receptor_id"
        else receptors[field.name].take(betas if field.name.startswith("trb") else alphas)
        for field in receptors.schema
    ]
    made = pa.table(further, schema=receptors.schema)
    return dataclasses.replace(labelled, receptors=pa.concat_tables([receptors, made]))


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("cells", type=Path, help="labelled cells of a run, cells/labelled.parquet")
    parser.add_argument("receptors", type=Path, help="receptors of the run, receptors/receptors.parquet")
    parser.add_argument("--encoders", default="sceptr,tcrdist,cdr3_levenshtein")
    parser.add_argument("--rules", default="nearest_neighbour,average_distance")
    parser.add_argument("--k", type=int, nargs="+", default=[1, 2, 5, 10, 20, 50, 100, 200])
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--among", type=int, default=0, help="test receptors, the further ones made")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec import encoders
    from airrvec.core import tables
    from airrvec.encoders.combined import Embedded
    from airrvec.evaluation import fewshot, scoring

    labelled = fewshot.select_labelled(
        tables.read(args.cells), tables.read(args.receptors), species="homosapiens"
    )
    splits, _ = fewshot.plan_splits(labelled, ks=args.k, n_splits=args.splits, min_positives=100, seed=420)
    if args.among > len(labelled.receptors):
        labelled = grown(labelled, args.among)
    largest = {split.epitope for split in splits if split.k == max(args.k)}
    splits = [split for split in splits if split.epitope in largest]
    n_splits = sum(len(split.references) for split in splits)
    print(f"{len(labelled.receptors):,} receptors, {len(largest)} epitopes, {n_splits:,} splits")
    table = results.Table(encoder="", wall_s=".1f", scores=",", memory_MB=",.0f")
    for name in args.encoders.split(","):
        encoder = encoders.load(name)
        if hasattr(encoder, "embed"):
            encoder = Embedded(encoder, labelled.receptors)
        else:  # numba compiles
            encoder.distances(labelled.receptors.slice(0, 2), labelled.receptors.slice(0, 2))
        start = time.monotonic()
        scores = scoring.score(encoder, name, labelled, splits, rules=tuple(args.rules.split(",")))
        seconds = time.monotonic() - start  # distances included
        table.add(encoder=name, wall_s=seconds, scores=len(scores.auroc), memory_MB=peak_memory())
    figures = {"receptors": len(labelled.receptors), "epitopes": len(largest), "splits": n_splits}
    results.write(args, {**figures, "encoders": table.rows}, ["numba", "rapidfuzz"])


if __name__ == "__main__":
    main()
