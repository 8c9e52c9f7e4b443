#!/usr/bin/env python3
"""
Clones that change between two samples: false calls between replicates, and clones spiked at four-fold.

Each two replicates of a group are compared. In a second comparison, random clones of ten counts or more in
the second replicate have four times as many. Replicates are simulated, or tables of a group.

    python benchmarks/changes/changes.py
    python benchmarks/changes/changes.py CEF=CEF_1.tsv,CEF_2.tsv,CEF_3.tsv AY9=AY9_1.tsv,AY9_2.tsv
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import airrvec  # noqa: F401  before numpy, as in the scripts
from airrvec.repertoire.following import noise_of
from airrvec.stats import count_changes
from airrvec.stats.count_changes import Counts, Noise
from airrvec.stats.designs import SIGNIFICANT
from airrvec.stats.significance import benjamini_hochberg

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.common import results
from benchmarks.common.material import normalised
from benchmarks.common.replicates import blood, counts_of, drawn

SIMULATED = {  # group → noise of its replicates, what is counted, counts of a sample
    "simulated cells": (Noise(1.0, 0.001), "cells", 30_000),
    "simulated cells, dispersed": (Noise(1.0, 0.02), "cells", 30_000),
    "simulated templates": (Noise(1.5, 0.15), "templates", 25_000),
    "simulated reads": (Noise(8.0, 0.1), "reads", 250_000),
}
FOLD, LEAST = 4, 10


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("groups", nargs="*", help="GROUP=TABLE,TABLE,…: replicates; simulated without any")
    parser.add_argument("--spiked", type=int, default=30, help="clones with more counts")
    parser.add_argument("--clones", type=int, default=20_000, help="of simulated blood")
    parser.add_argument("--draws", type=int, default=5, help="of spiked clones, and of simulated blood")
    parser.add_argument("--seed", type=int, default=420)
    return parser.parse_args(argv)


def replicates(args, rng: np.random.Generator) -> Iterator[tuple[str, str, list[np.ndarray]]]:
    """Yield group, unit and the counts of the same clones in each replicate."""
    for word in args.groups:
        group, paths = word.split("=")
        with tempfile.TemporaryDirectory() as folder:
            cells = [normalised(Path(path), Path(folder))[0].to_pandas() for path in paths.split(",")]
        counts = pd.concat(
            [part.groupby("clonotype_id")["abundance"].sum() for part in cells], axis=1
        ).fillna(0)
        yield group, cells[0]["count_unit"].iloc[0], list(counts.to_numpy(np.int64).T)
    if not args.groups:
        for group, (noise, unit, n) in SIMULATED.items():
            for _ in range(args.draws):
                shares = blood(rng, args.clones)
                yield group, unit, [drawn(shares, n, noise, rng) for _ in range(3)]


def airrvec_step(pair: Counts, unit: str, _: list[Counts]) -> np.ndarray:
    return benjamini_hochberg(count_changes.changes(pair, noise_of(pair, unit)[0]).p)


def airrvec_replicates(pair: Counts, unit: str, replicate_pairs: list[Counts]) -> np.ndarray:
    noise = noise_of(pair, unit, count_changes.estimate(replicate_pairs))[0]
    return benjamini_hochberg(count_changes.changes(pair, noise).p)


def fisher(pair: Counts, *_) -> np.ndarray:
    """Fisher's exact test of every clone, as twice the smaller tail."""
    known = pair.together > 0
    law = stats.hypergeom(sum(pair.totals), pair.totals[1], pair.together[known])
    after = pair.after[known]
    p = np.full(len(known), np.nan)
    p[known] = np.minimum(1, 2 * np.minimum(law.cdf(after), law.sf(after - 1)))
    return benjamini_hochberg(p)


def vdjtools(pair: Counts, unit: str, _: list[Counts]) -> np.ndarray:
    """`test_pair` of vdjtools 5, which is no part of the environment; NaN where it refuses a pair."""
    import polars as pl
    from vdjtools import dynamics

    names = [f"C{number}F" for number in range(len(pair.before))]

    def frame(counts: np.ndarray):
        rows = np.flatnonzero(counts)
        columns = {"junction_aa": [names[row] for row in rows], "v_call": "TRBV1", "j_call": "TRBJ1"}
        return pl.DataFrame(columns | {"duplicate_count": counts[rows]}).with_columns(
            (pl.col("duplicate_count") / counts.sum()).alias("frequency")
        )

    try:
        tested = dynamics.test_pair(
            frame(pair.before), frame(pair.after), neff=None if unit == "cells" else "auto", alpha=SIGNIFICANT
        )
    except ValueError:
        return np.full(len(names), np.nan)
    q = dict(zip(tested["junction_aa"], tested["q_value"], strict=True))
    return np.array([q.get(name) for name in names], float)


WAYS: dict[str, Callable[..., np.ndarray]] = {
    "airrvec, replicates": airrvec_replicates,
    "airrvec, no replicates": airrvec_step,
    "Fisher's exact test": fisher,
    "vdjtools": vdjtools,
}


def main(argv=None):
    args = parse_args(argv)
    rng = np.random.default_rng(args.seed)
    ways = {name: way for name, way in WAYS.items() if name != "vdjtools" or results.installed("vdjtools")}
    rows = []
    for group, unit, samples in replicates(args, rng):
        pairs = [counts_of(*two) for two in combinations(samples, 2)]
        for pair in pairs:
            spiked = []
            for _ in range(args.draws if args.groups else 1):
                large = np.flatnonzero((pair.after >= LEAST) & (pair.after < 0.005 * pair.totals[1]))
                chosen = rng.choice(large, min(args.spiked, len(large)), replace=False)
                after = pair.after.copy()
                after[chosen] *= FOLD
                spiked.append((chosen, counts_of(pair.before, after)))
            for name, way in ways.items():
                start = time.perf_counter()
                fdr = way(pair, unit, pairs)
                row = {"group": group, "way": name, "seconds": time.perf_counter() - start, "pairs": 1}
                row |= {"tested": int(np.isfinite(fdr).sum()), "called": int((fdr <= SIGNIFICANT).sum())}
                seen = [int((way(more, unit, pairs)[chosen] <= SIGNIFICANT).sum()) for chosen, more in spiked]
                rows.append(
                    row | {"spiked": sum(len(chosen) for chosen, _ in spiked), "found": int(sum(seen))}
                )
    sums = pd.DataFrame(rows).groupby(["group", "way"], sort=False).sum().reset_index()
    table = results.Table(
        group="",
        way="",
        pairs="",
        tested=",",
        called=",",
        called_share=".2%",
        found_share=".1%",
        seconds=".2f",
    )
    for total in sums.to_dict("records"):
        table.add(
            **{name: total[name] for name in ("group", "way", "pairs", "tested", "called")},
            called_share=total["called"] / total["tested"] if total["tested"] else None,
            found_share=total["found"] / total["spiked"],
            seconds=total["seconds"] / total["pairs"],
        )
    figures = {"fold": FOLD, "least": LEAST, "ways": table.rows}
    results.write(args, figures, ["scipy", "vdjtools"])


if __name__ == "__main__":
    main()
