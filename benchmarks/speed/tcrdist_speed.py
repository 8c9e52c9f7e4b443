#!/usr/bin/env python3
"""
TCRdist of paired receptors against each other: ours, pyrepseq's and tcrdist3's own, in turn in one process.

All get the same receptors of a labelled table, in their own form, and as many threads as they know to use.
What is measured is the call that gives the n × n distances; the one before, which compiles, is not. Where
tcrdist3 knows no loops of an allele, the receptors are left out for all.
"""

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("table", type=Path, help="labelled receptors, in any format that airrvec reads")
parser.add_argument("--receptors", type=int, default=7000)
parser.add_argument("--repeats", type=int, default=3)
parser.add_argument("--cpus", type=int, default=2)
parser.add_argument("--json", type=Path, help="file for the result")
args = parser.parse_args()
os.environ["NUMBA_NUM_THREADS"] = str(args.cpus)
warnings.simplefilter("ignore")

from airrvec import encoders
from airrvec.encoders.tcrdist_loops import loops_of
from airrvec.input import normalise, reading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyrepseq.metric.tcr_metric import Tcrdist as PyrepseqTcrdist
from tcrdist.repertoire import TCRrep

FIELDS = ("tra_v_call", "tra_junction_aa", "trb_v_call", "trb_junction_aa")


def paired(path: Path, n: int) -> pa.Table:
    """Distinct complete receptors whose alleles all three know; drawn with replacement if there are fewer."""
    receptors = normalise.normalise(reading.open_chains(path), sample_id="x", species="homosapiens").receptors
    receptors = receptors.drop(["chain_pairing", "innate_like"]).drop_null()
    receptors = receptors.filter(pc.equal(receptors["species"], "homosapiens"))
    known = [
        all(loops_of("homosapiens", row[name]) is not None for name in ("tra_v_call", "trb_v_call"))
        for row in receptors.select(["tra_v_call", "trb_v_call"]).to_pylist()
    ]
    receptors = receptors.filter(pa.array(known))
    if len(receptors) >= n:
        return receptors.slice(0, n)
    more = np.random.default_rng(0).integers(0, len(receptors), n - len(receptors))
    return pa.concat_tables([receptors, receptors.take(pa.array(more))])


def of_pyrepseq(frame: pd.DataFrame):
    frame = frame.set_axis(["TRAV", "CDR3A", "TRBV", "CDR3B"], axis=1)
    metric = PyrepseqTcrdist()
    return lambda n: metric.calc_cdist_matrix(frame[:n], frame[:n])


def of_tcrdist3(frame: pd.DataFrame):
    columns = ["v_a_gene", "cdr3_a_aa", "v_b_gene", "cdr3_b_aa"]
    frame = frame.set_axis(columns, axis=1).assign(count=1)

    def distances(n: int) -> np.ndarray:
        repertoire = TCRrep(
            cell_df=frame[:n],
            organism="human",
            chains=["alpha", "beta"],
            deduplicate=False,
            compute_distances=False,
        )
        repertoire.cpus = args.cpus
        repertoire.compute_distances()
        return repertoire.pw_alpha + repertoire.pw_beta

    return distances


def main():
    receptors = paired(args.table, args.receptors)
    frame = receptors.select(FIELDS).to_pandas()
    ours = encoders.load("tcrdist")
    programs = {
        "airrvec": lambda n: ours.distances(receptors.slice(0, n), receptors.slice(0, n)),
        f"pyrepseq {version('pyrepseq')}": of_pyrepseq(frame),
        f"tcrdist3 {version('tcrdist3')}": of_tcrdist3(frame),
    }
    for distances in programs.values():
        distances(50)
    seconds, equal = {name: [] for name in programs}, {}
    for _ in range(args.repeats):
        reference = None
        for name, distances in programs.items():
            start = time.perf_counter()
            matrix = distances(len(receptors))
            seconds[name].append(time.perf_counter() - start)
            reference = matrix if reference is None else reference
            equal[name] = bool((matrix == reference).all())
    report(len(receptors), seconds, equal)


def report(n: int, seconds: dict[str, list[float]], equal: dict[str, bool]) -> None:
    own = statistics.median(seconds["airrvec"])
    print(f"TCRdist of {n:,} × {n:,} paired receptors, {args.cpus} threads, median of {args.repeats} in turn")
    print(f"{'':20}{'seconds':>10}{'ratio':>8}  equal")
    for name, values in seconds.items():
        median = statistics.median(values)
        print(f"{name:20}{median:>10.2f}{median / own:>8.1f}  {equal[name]}")
    result = {"receptors": n, "cpus": args.cpus, "seconds": seconds, "equal": equal}
    if args.json:
        args.json.write_text(json.dumps(result, indent=2) + "\n")
    else:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
