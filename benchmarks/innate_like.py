#!/usr/bin/env python3
"""
Innate-like receptors (MAIT, iNKT): how often the rules hold in labelled, generated and real receptors, and
what annotation does with and without them.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bin"))

from airrvec.core import innate, tables
from airrvec.synthetic.synthesis import synthesise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# What the rules look for, without the junction and the β chain.
GENES = {innate.MAIT: ("TRAV1-2", "TRAJ(33|20|12)"), innate.INKT: ("TRAV10", "TRAJ18")}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--samples", type=Path, nargs="+", required=True, help="real samples, human")
    parser.add_argument("--generated", type=int, default=200_000, help="receptors of OLGA")
    parser.add_argument("--exclude-references", default="10xgenomics")
    return parser.parse_args(argv)


def run(script: str, *arguments) -> None:
    command = [sys.executable, str(ROOT / "bin" / script), *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def normalised(path: Path, name: str, folder: Path) -> tuple[Path, Path]:
    run("normalise_receptors.py", path, "--sample", name, "--outdir", folder)
    return folder / f"{name}.cells.parquet", folder / f"{name}.receptors_0000.parquet"


def frequencies(title: str, receptors: pa.Table) -> str:
    """Return a row of the table: α chains, those with the genes, those that follow the rule."""
    receptors = tables.distinct_receptors(receptors)
    receptors = receptors.filter(pc.equal(receptors["species"], "homosapiens"))
    receptors = receptors.filter(pc.is_valid(receptors["tra_junction_aa"]))
    cells = [f"{len(receptors):,}"]
    for name, genes in GENES.items():
        mask = np.ones(len(receptors), bool)
        for column, gene in zip(("tra_v_call", "tra_j_call"), genes, strict=True):
            found = pc.match_substring_regex(receptors[column], rf"^({gene})(\*.*)?$")
            mask &= pc.fill_null(found, False).to_numpy()
        follows = pc.fill_null(pc.equal(receptors["innate_like"], name), False).to_numpy()
        share = 1e4 * follows.mean() if len(follows) else 0
        cells += [f"{mask.sum():,}", f"{follows.sum():,}", f"{share:.2f}"]
    return f"| {title} | {' | '.join(cells)} |"


def annotation(
    labelled: tuple[Path, Path], samples: dict, excluded: str, folder: Path, *, keep: bool
) -> None:
    """Print recall of the cross-validation, and the calls in each sample."""
    options = ["--innate"] if keep else []
    cells, receptors = labelled
    known = ("--cells", cells, "--receptors", receptors, "--exclude-references", excluded)
    run("calibrate_annotation.py", *known, *options, "--cpus", "2", "--outdir", folder)
    qc = json.loads((folder / "calibration.qc.json").read_text())
    words = "kept" if keep else "withheld"
    print(f"\nInnate-like receptors {words}; labelled ones: {qc['innate_references']}")
    rates = tables.read(folder / "precision_recall.parquet").to_pandas()
    for chains, rows in rates.groupby("chains"):
        for prevalence, at in rows.groupby("prevalence"):
            reached = at[at["precision"] >= 0.9]["recall"].max()
            print(f"  {chains}, {prevalence:g} labelled: recall at a precision of 90 % {reached:.3f}")
    given = [
        *("--sample", *samples, "--cells", *(paths[0] for paths in samples.values())),
        *("--receptors", *(paths[1] for paths in samples.values())),
    ]
    for fdr in (0.1, 0.2):
        out = folder / f"calls_{fdr:g}"
        common = ("--reference", folder / "reference", "--fdr", fdr, "--cpus", "2", "--outdir", out)
        run("annotate_receptors.py", *given, *common, *options)
        for name in samples:
            calls = tables.read(out / f"{name}.parquet").to_pandas().drop_duplicates("receptor_id")
            called = calls[calls["call"] == "called"]
            kinds = called["innate_like"].value_counts().to_dict()
            withheld = int((calls["call"] == "innate-like").sum())
            print(
                f"  {name}, FDR {fdr:g}: {len(called)} of {len(calls):,} receptors called, of these {kinds};"
                f" {withheld} withheld; epitopes {called['epitope'].value_counts().to_dict()}"
            )


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        labelled = normalised(args.labelled, "labelled", folder)
        samples = {
            path.name.split(".")[0]: normalised(path, path.name.split(".")[0], folder)
            for path in args.samples
        }
        receptors = tables.read(labelled[1])
        print("| receptors | α chains | MAIT genes | MAIT | of 10,000 | iNKT genes | iNKT | of 10,000 |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        print(frequencies("generated by OLGA", synthesise(args.generated, seed=1)))
        print(frequencies("labelled", receptors))
        for sample, (_, path) in samples.items():
            print(frequencies(sample, tables.read(path)), flush=True)
        for keep in (True, False):
            annotation(labelled, samples, args.exclude_references, folder / f"keep_{keep}", keep=keep)


if __name__ == "__main__":
    main()
