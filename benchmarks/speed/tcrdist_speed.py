#!/usr/bin/env python3
"""
TCRdist of paired receptors against each other: ours, pyrepseq's and tcrdist3's own, in turn in one process.

All get the same receptors of a labelled table, in their own form, and as many threads as they can use. The
call that gives the n × n distances is measured; the one before, which compiles, is not. V genes are taken as
their allele 01, of which all programs know the loops. A peer that is not installed is left out.
"""

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import runtime, schema
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.input import normalise, reading

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.common import results

FIELDS = ["tra_v_call", "tra_junction_aa", "trb_v_call", "trb_junction_aa"]
PEERS = {"pyrepseq": "pyrepseq", "tcrdist3": "tcrdist"}  # package → module


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("table", type=Path, help="labelled receptors, in any format that airrvec reads")
    parser.add_argument("--receptors", type=int, default=7000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args(argv)


def paired(path: Path, n: int) -> pa.Table:
    """Return complete receptors with V genes of allele 01, drawn with replacement if there are fewer."""
    receptors = normalise.normalise(reading.open_chains(path), sample_id="x", species="homosapiens").receptors
    human = receptors.filter(pc.equal(receptors["species"], "homosapiens"))
    for name in ("tra_v_call", "trb_v_call"):
        calls = pc.binary_join_element_wise(pc.replace_substring_regex(human[name], r"\*.*", ""), "01", "*")
        human = human.set_column(human.column_names.index(name), name, calls)
    complete = human.filter(pa.array(is_measurable(human, schema.LOCI)))
    if len(complete) >= n:
        return complete.slice(0, n)
    more = np.random.default_rng(0).integers(0, len(complete), n - len(complete))
    return pa.concat_tables([complete, complete.take(pa.array(more))])


def pyrepseq_distances(receptors: pa.Table, cpus: int) -> Callable[[int], np.ndarray]:
    from pyrepseq.metric.tcr_metric import Tcrdist

    frame = receptors.select(FIELDS).to_pandas().set_axis(["TRAV", "CDR3A", "TRBV", "CDR3B"], axis=1)
    metric = Tcrdist()
    return lambda n: metric.calc_cdist_matrix(frame[:n], frame[:n])


def tcrdist3_distances(receptors: pa.Table, cpus: int) -> Callable[[int], np.ndarray]:
    from tcrdist.repertoire import TCRrep

    columns = ["v_a_gene", "cdr3_a_aa", "v_b_gene", "cdr3_b_aa"]
    frame = receptors.select(FIELDS).to_pandas().set_axis(columns, axis=1).assign(count=1)

    def distances(n: int) -> np.ndarray:
        options = {"organism": "human", "chains": ["alpha", "beta"], "deduplicate": False}
        repertoire = TCRrep(cell_df=frame[:n].copy(), compute_distances=False, **options)
        repertoire.cpus = cpus
        repertoire.compute_distances()
        return repertoire.pw_alpha + repertoire.pw_beta

    return distances


def programs(receptors: pa.Table, cpus: int) -> dict[str, Callable[[int], np.ndarray]]:
    """Return each program's function from n to the distances of the first n receptors, shape (n, n)."""
    from airrvec import encoders

    own = encoders.load("tcrdist")
    functions = {"airrvec": lambda n: own.distances(receptors.slice(0, n), receptors.slice(0, n))}
    for package, prepare in {"pyrepseq": pyrepseq_distances, "tcrdist3": tcrdist3_distances}.items():
        if find_spec(PEERS[package]):
            functions[package] = prepare(receptors, cpus)
        else:
            print(f"{package} is not installed: left out")
    return functions


def measure(receptors: pa.Table, args: argparse.Namespace) -> list[dict]:
    """Return a row for each program: seconds, times as long as ours, and whether all distances are equal."""
    functions = programs(receptors, args.threads)
    for distances in functions.values():
        distances(min(50, len(receptors)))
    seconds: dict[str, list[float]] = {name: [] for name in functions}
    equal = {}
    for _ in range(args.repeats):
        reference = None
        for name, distances in functions.items():
            start = time.perf_counter()
            matrix = distances(len(receptors))
            seconds[name].append(time.perf_counter() - start)
            reference = matrix if reference is None else reference
            equal[name] = bool((matrix == reference).all())
    table = results.Table(program="", version="", seconds=".3f", times_airrvec=".1f", equal="")
    own = statistics.median(seconds["airrvec"])
    for name, values in seconds.items():
        median = statistics.median(values)
        table.add(
            program=name,
            version=results.installed(name) or "this checkout",
            seconds=median,
            times_airrvec=median / own,
            equal=equal[name],
        )
    return table.rows


def main(argv=None):
    args = parse_args(argv)
    warnings.simplefilter("ignore")
    runtime.limit_threads(args.threads)
    receptors = paired(args.table, args.receptors)
    print(
        f"{len(receptors):,} × {len(receptors):,} paired receptors, {args.threads} threads,"
        f" {args.repeats} times"
    )
    rows = measure(receptors, args)
    results.write(args, {"receptors": len(receptors), "cpus": args.threads, "programs": rows}, PEERS)


if __name__ == "__main__":
    main()
