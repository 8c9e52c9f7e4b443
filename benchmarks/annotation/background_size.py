#!/usr/bin/env python3
"""
How many background receptors a calibration needs, with and without the exponential tail.

One calibration is made with many background receptors. Its scores of them are divided at random, many times:
some calibrate, others are the background of a sample with labelled receptors. A sample's claimed rates are
compared with its false calls. The scorer and the labelled receptors stay the same: what differs is the
background that calibrates, alone.

    python benchmarks/annotation/background_size.py --labelled vdjdb_full_2023-06-01.txt.gz
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime, tables

runtime.limit_threads(2)

from airrvec.annotation import calibrate, evidence, reference_set, scorer
from airrvec.annotation.evidence import COMPARED, Sources
from airrvec.annotation.scorer import Calibration, CalibrationScores
from airrvec.core.chains import on_chains
from airrvec.encoders.sceptr import Sceptr
from airrvec.synthetic.synthesis import synthesise

import numpy as np

from benchmarks.annotation.public_splits import NO_TAIL
from benchmarks.common import results
from benchmarks.common.material import normalised

SHARES = (0.02, 0.1)  # labelled receptors in a sample
CLAIMED = (0.05, 0.1, 0.2)


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--labelled", type=Path, required=True, help="a VDJdb export")
    parser.add_argument("--exclude-references", default="10xgenomics")
    parser.add_argument("--chains", nargs="+", default=["paired", "beta"], help="paired, alpha or beta")
    parser.add_argument("--contrast", type=int, default=5_000, help="receptors in the densities")
    parser.add_argument("--background", type=int, default=50_000, help="receptors that are scored")
    parser.add_argument(
        "--sizes", nargs="+", type=int, default=[12_500, 25_000, 40_000], help="that calibrate"
    )
    parser.add_argument("--test", type=int, default=10_000, help="background receptors of a sample")
    parser.add_argument("--samples", type=int, default=100)
    return parser.parse_args(argv)


def calibrated(args, chains: str, cells, receptors) -> CalibrationScores:
    """Return the cross-validated scores of a chain class."""
    options = {"species": "homosapiens", "exclude_references": args.exclude_references}
    references = {
        name: reference_set.build_reference_set(cells, receptors, chains=name, **options)
        for name in COMPARED[chains]
    }
    made = on_chains(tables.distinct_receptors(synthesise(args.contrast + args.background, seed=1)), chains)
    embed = Sceptr("sceptr", threads=2).embed
    limits = {"min_references": evidence.MIN_REFERENCES, "threads": 2}
    sources = Sources.embedded(chains, references, made.slice(0, args.contrast), embed, **limits)
    background = made.slice(args.contrast)
    return calibrate.fit(sources, background, embed(background)).scores


def sampled(args, scores: CalibrationScores, size: int, share: float) -> dict[float, np.ndarray]:
    """Return the calls and the false ones of each sample at each claim, shape (n_samples, 2)."""
    epitope, labelled = scores.labelled.best()
    right = scores.is_right(epitope)
    _, background = scores.background.best()
    rng = np.random.default_rng(420)
    counts: dict[float, list] = {claim: [] for claim in CLAIMED}
    for _ in range(args.samples):
        order = rng.permutation(len(background))
        calibration = Calibration(labelled, right, background[order[:size]])
        tested = background[order[size : size + args.test]]
        rows = rng.choice(len(labelled), round(len(tested) * share / (1 - share)))
        values = np.concatenate([labelled[rows], tested])
        is_right = np.concatenate([right[rows], np.zeros(len(tested), bool)])
        rates = calibration.fdr(values, calibration.prevalence(values))
        for claim, numbers in counts.items():
            numbers.append(((rates <= claim).sum(), ((rates <= claim) & ~is_right).sum()))
    return {claim: np.array(numbers) for claim, numbers in counts.items()}


def main(argv=None):
    args = parse_args(argv)
    with TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled, Path(folder))
    table = results.Table(
        chains="",
        labelled=".0f",
        tail="",
        size=",",
        claimed=".0f",
        observed=".3f",
        calls=".1f",
        calls_sd=".1f",
    )
    for chains in args.chains:
        scores = calibrated(args, chains, cells, receptors)
        for share in SHARES:
            for tail, least in (("counted", NO_TAIL), ("exponential", scorer.TAIL_RECEPTORS)):
                for size in args.sizes:
                    with mock.patch.object(scorer, "TAIL_RECEPTORS", least):
                        counts = sampled(args, scores, size, share)
                    for claim, numbers in counts.items():
                        calls, false = numbers.sum(axis=0)
                        table.add(
                            chains=chains, labelled=100 * share, tail=tail, size=size, claimed=100 * claim,
                            observed=false / calls if calls else None,
                            calls=numbers[:, 0].mean(), calls_sd=numbers[:, 0].std(),
                        )  # fmt: skip
    figures = {chains: [row for row in table.rows if row["chains"] == chains] for chains in args.chains}
    results.write(args, figures, ["scikit-learn", "numba"])


if __name__ == "__main__":
    main()
