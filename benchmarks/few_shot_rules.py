#!/usr/bin/env python3
"""
Search for a few-shot rule without training: the table of docs/benchmarks/few_shot.md.

The epitopes are ordered by their number of receptors. The first, third, fifth … are half A, the others half
B. Each family of rules has settings; those best on one half are measured on the other, and those best on all
on all. Only the references of a split are used as labelled receptors. The last rows use further references
(few_shot_further.py).

    python benchmarks/few_shot_rules.py vdjdb_full_2023-06-01.txt.gz
"""

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import runtime

runtime.limit_threads(1)

import numpy as np
import pandas as pd

from few_shot_families import FAMILIES
from few_shot_further import chains_of_other_studies, epitopes_not_tested
from few_shot_material import Material, labelled_receptors


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labelled", type=Path, help="labelled table, in any input format")
    parser.add_argument("--k", type=int, default=200)
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--seed", type=int, default=420)
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--no-further", action="store_true", help="leave out the further references")
    parser.add_argument("--out", type=Path, help="write every setting and epitope to this file (TSV)")
    return parser.parse_args(argv)


def row(family: str, setting: str, aurocs: np.ndarray, names: list[str]) -> dict:
    """Return a row: mean AUROC over splits of each epitope, shape (e, s), and means over halves and all."""
    means = aurocs.mean(axis=1)
    error = np.sqrt((aurocs.var(axis=1, ddof=1) / aurocs.shape[1]).sum()) / len(means)
    halves = {"A": means[::2].mean(), "B": means[1::2].mean(), "all": means.mean()}
    return {
        "family": family,
        "setting": setting,
        **dict(zip(names, means, strict=True)),
        **halves,
        "se": error,
    }


def table(measured: pd.DataFrame) -> str:
    """Return one line for each family: chosen on a half and measured on the other, and chosen on all."""
    lines = [
        "| Rule | chosen on A | measured on B | chosen on B | measured on A | chosen on all | all |",
        "|---|---|---|---|---|---|---|",
    ]
    for family, group in measured.groupby("family", sort=False):
        on_a, on_b, on_all = (group.loc[group[half].idxmax()] for half in ("A", "B", "all"))
        cells = [
            f"{row['setting']} | {row[half]:.4f}" for row, half in ((on_a, "B"), (on_b, "A"), (on_all, "all"))
        ]
        lines.append(f"| {' | '.join([family, *cells])} |")
    return "\n".join(lines)


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        labelled, everything = labelled_receptors(
            args.labelled.resolve(), Path(folder), args.exclude_references
        )
    material = Material(labelled, k=args.k, n_splits=args.splits, seed=args.seed)
    for half, start in (("A", 0), ("B", 1)):
        chosen = material.epitopes[start::2]
        print(f"half {half}:", ", ".join(f"{name} ({len(labelled.epitopes[name])})" for name in chosen))
    measured = []
    for name in args.families:
        title = FAMILIES[name].__doc__.strip().split(".\n")[0].rstrip(".")
        for setting, scores in FAMILIES[name](material):
            measured.append(row(title, setting, material.aurocs(scores), material.epitopes))
            print(f"{measured[-1]['all']:.4f}  {title}: {setting}", file=sys.stderr, flush=True)
    if not args.no_further:
        for part in (epitopes_not_tested, chains_of_other_studies):
            for title, setting, aurocs in part(material, everything):
                measured.append(row(title, setting, aurocs, material.epitopes))
                print(f"{measured[-1]['all']:.4f}  {title}: {setting}", file=sys.stderr, flush=True)
    frame = pd.DataFrame(measured)
    print(
        f"\n{table(frame)}\n\nlargest standard error over splits of a mean over all: {frame['se'].max():.4f}"
    )
    if args.out:
        frame.to_csv(args.out, sep="\t", index=False, float_format="%.5f")


if __name__ == "__main__":
    main()
