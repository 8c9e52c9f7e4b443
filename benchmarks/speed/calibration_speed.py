#!/usr/bin/env python3
"""
Time of a calibration of annotation: made, by the number of threads; made where the vectors of the background
are kept, for another error rate; and taken from the kept ones.

`calibrate_annotation.py` of this state of the code, and of another one with `--before CHECKOUT`, each with
its own default of background receptors. Compiled code is made by a run on the labels of one epitope first.

    python benchmarks/speed/calibration_speed.py vdjdb_full_2023-06-01.txt.gz --exclude-references 10xgenomics
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from airrvec.core import tables

import pyarrow.compute as pc

from benchmarks.common import results
from benchmarks.common.material import normalised
from benchmarks.common.timing import program


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("labelled", type=Path, help="a table with labels, e.g. a VDJdb export")
    parser.add_argument("--exclude-references", default="none")
    parser.add_argument("--threads", nargs="+", type=int, default=[2, 1])
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another state of the code")
    parser.add_argument("--background-receptors", type=int, help="instead of each default")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    table = results.Table(what="", threads=".0f", wall_s=".1f", processor_s=".1f", memory_MB=",.0f")
    with TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        cells, receptors = normalised(args.labelled, folder)
        few = folder / "few.parquet"
        tables.write(cells.filter(pc.is_valid(cells["epitope"])).slice(0, 200), few)
        inputs = {"few": few, "all": folder / "cells.parquet"}
        tables.write(cells, inputs["all"])
        tables.write(receptors, folder / "receptors.parquet")

        def calibrated(root: Path, threads: int, *more, cells: str = "all", kept: str = "none") -> dict:
            words = ["--cells", inputs[cells], "--receptors", folder / "receptors.parquet"]
            words += ["--exclude-references", args.exclude_references, "--calibrations", kept, *more]
            if args.background_receptors:
                words += ["--background-receptors", args.background_receptors]
            script = root / "bin" / "calibrate_annotation.py"
            return program(sys.executable, script, *words, "--threads", threads, "--outdir", folder / "out")

        states = {"made": ROOT} | ({"before": args.before} if args.before else {})
        for root in states.values():
            calibrated(root, 1, cells="few")
        for threads in args.threads:
            for state, root in states.items():
                table.add(what=state, threads=threads, **calibrated(root, threads))
        kept = str(folder / "kept")
        threads = args.threads[0]
        calibrated(ROOT, threads, "--annotation-fdr", "0.2", kept=kept)
        for state in ("made, background kept", "taken"):
            table.add(what=state, threads=threads, **calibrated(ROOT, threads, kept=kept))
    results.write(args, {"calibration": table.rows}, ["numba", "scikit-learn"])


if __name__ == "__main__":
    main()
