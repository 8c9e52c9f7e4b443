#!/usr/bin/env python3
"""
AUROC against pre-training steps, on synthetic receptors alone, within a budget of time.

Training stops at the numbers of steps in POINTS and goes on from its checkpoint; the budget counts
training alone. The task is the 200-shot nearest neighbour on a labelled table, mean of its epitopes.
"""

import csv
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime

from benchmarks.common import results

POINTS = (25, 50, 100, 200, *range(400, 200_000, 400))


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("cells", type=Path, help="labelled cells, as airrvec normalises them")
    parser.add_argument("receptors", type=Path, help="their receptors")
    parser.add_argument("--preset", type=Path, default=ROOT / "conf/models/short.json")
    parser.add_argument("--synthetic", type=int, default=100_000, help="receptors to learn from")
    parser.add_argument("--budget", type=float, default=3600, help="seconds of training")
    parser.add_argument("--points", type=int, nargs="+", default=POINTS, help="steps to measure at")
    parser.add_argument("--k", type=int, default=200, help="references of an epitope")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--positives", type=int, default=100, help="least receptors of an epitope to test")
    parser.add_argument("--device", default="cpu", help="of training: cpu or gpu")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=420)
    parser.add_argument("--outdir", type=Path, default=Path("pretraining_curve"))
    return parser.parse_args(argv)


def auroc_function(args) -> Callable:
    """Return a function: encoder → AUROC of each epitope by the nearest of k references."""
    from airrvec.core import tables
    from airrvec.evaluation import fewshot, scoring

    labelled = fewshot.select_labelled(
        tables.read(args.cells), tables.read(args.receptors), species="homosapiens"
    )
    options = {"n_splits": args.splits, "min_positives": args.positives, "seed": args.seed}
    splits, _ = fewshot.plan_splits(labelled, ks=[args.k], **options)

    def auroc(encoder) -> dict[str, float]:
        table = scoring.score(encoder, "", labelled, splits, rules=("nearest_neighbour",)).auroc
        means = table.group_by("epitope").aggregate([("auroc", "mean")]).to_pylist()
        return {row["epitope"]: row["auroc_mean"] for row in means}

    return auroc


def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec import encoders
    from airrvec.model import weights
    from airrvec.model.tokens import tokenise
    from airrvec.model.transformer import ReceptorEncoder
    from airrvec.synthetic import synthesis
    from airrvec.training import presets, trainer
    from airrvec.training.data import Receptors

    import numpy as np
    import torch

    preset = presets.load(args.preset)
    auroc = auroc_function(args)
    args.outdir.mkdir(parents=True, exist_ok=True)
    rows = []

    def report(name: str, steps: int | None, seconds: float | None, epitope_aurocs: dict[str, float]) -> None:
        mean = float(np.mean(list(epitope_aurocs.values())))
        rows.append({"model": name, "steps": steps, "seconds": seconds, "mean": mean, **epitope_aurocs})
        print(f"{name}, {steps} steps, {seconds} s: {mean:.4f}", flush=True)
        with open(args.outdir / "auroc.tsv", "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0], delimiter="\t")
            writer.writeheader()
            writer.writerows(rows)

    for name in ("cdr3_levenshtein", "tcrdist", "sceptr_synthetic_data", "sceptr"):
        report(name, None, None, auroc(encoders.load(name)))

    tokens = tokenise(synthesis.synthesise(args.synthetic, seed=args.seed), preset.model.loops)
    torch.manual_seed(args.seed)
    encoder = ReceptorEncoder(preset.model)
    saved = args.outdir / "model"

    def measure(steps: int, seconds: float) -> None:
        weights.save(encoder.eval(), "short", saved, {})
        report("short", steps, seconds, auroc(encoders.load(str(saved))))

    measure(0, 0.0)
    spent = 0.0
    with tempfile.TemporaryDirectory() as checkpoints:
        for steps in args.points:
            start = time.perf_counter()
            trainer.train(
                encoder.train(), Receptors(tokens), None, preset.objective,
                replace(preset.schedule, steps=steps), seed=args.seed, folder=Path(checkpoints),
                checkpoint_every=25, device=args.device,
            )  # fmt: skip
            spent += time.perf_counter() - start
            measure(steps, round(spent, 1))
            if spent > args.budget:
                break
    draw(args.outdir / "auroc.tsv", args.outdir / "pretraining_curve.png", args.k)
    results.write(args, {"k": args.k, "splits": args.splits, "points": rows}, ["torch", "lightning"])


def draw(table: Path, path: Path, k: int) -> None:
    """The mean AUROC against the step, between the floors and the published models."""
    import matplotlib

    matplotlib.use("Agg")
    from airrvec.encoders import Titles
    from airrvec.figures.palette import COLOURS

    import matplotlib.pyplot as plt
    import pandas as pd

    rows = pd.read_csv(table, sep="\t")
    own, known = rows[rows["steps"].notna()], rows[rows["steps"].isna()]
    figure, axis = plt.subplots(figsize=(6.4, 4), layout="constrained")
    axis.plot(own["steps"], own["mean"], "o-", color=COLOURS[0], label="Trained here", markersize=4)
    for number, (model, mean) in enumerate(zip(known["model"], known["mean"], strict=True), start=1):
        axis.axhline(mean, color=COLOURS[number], linestyle=["-", "--", ":", "-."][number % 4])
        axis.text(1, mean, Titles()[model], va="bottom", fontsize=9)
    axis.set_xscale("symlog", linthresh=25)
    axis.set_xticks(ticks := [0, 25, 100, 400, 1600], [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()
    axis.set_xlim(left=0)
    axis.set_xlabel("Steps of 256 synthetic receptors; 0 is random weights")
    axis.set_ylabel(f"AUROC, {k} references, mean of the epitopes")
    axis.grid(alpha=0.3)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
