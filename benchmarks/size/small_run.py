#!/usr/bin/env python3
"""
What a user waits for: a run of one sample with annotation, from the command to its end.

The sample is that of the demonstration (10x, PBMC). *First*: no run has seen the reference. *Further*: its
calibration is kept. Of this state of the code and, by turns, of another one with `--before CHECKOUT`, each
with its own launcher of Nextflow and a folder of calibrations of its own; medians of the rounds. A round
before them compiles what Python, numba and the launcher keep. Other options go to Nextflow.

    python benchmarks/size/small_run.py vdjdb_full_2023-06-01.txt.gz --rounds 3 --before OLDER
"""

import shutil
import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from benchmarks.common import results
from benchmarks.common.timing import nextflow

SAMPLE = ROOT / "assets/demo/10x_pbmc_filtered_contig_annotations.csv.gz"


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("reference", type=Path, help="a table with labels, e.g. a VDJdb export")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another state of the code")
    return parser.parse_known_args(argv)


def run(root: Path, folder: Path, reference: Path, options: list[str]) -> dict[str, float]:
    """Run the pipeline of a checkout from an empty work folder."""
    for name in ("results", "work"):
        shutil.rmtree(folder / name, ignore_errors=True)
    words = ["-q", "run", root, "--input", folder / "sheet.csv", "--annotate", "--reference", reference]
    words += ["--outdir", "results", "--calibrations", folder / "calibrations", *options]
    return nextflow(root, *words, cwd=folder)


def main(argv=None):
    args, options = parse_args(argv)
    states = {"now": ROOT} | ({"before": args.before.resolve()} if args.before else {})
    measured: dict[tuple[str, str], list[dict[str, float]]] = {}
    with TemporaryDirectory() as parent:
        for number in range(args.rounds + 1):
            for state, root in states.items():
                folder = Path(parent) / state
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                (folder / "sheet.csv").write_text(f"sample,path\npbmc,{SAMPLE}\n")
                for turn in ("first", "further"):
                    used = run(root, folder, args.reference.resolve(), options)
                    if number:
                        measured.setdefault((state, turn), []).append(used)
    table = results.Table(state="", run="", wall_s=".1f", processor_s=".1f")
    for (state, turn), rounds in measured.items():
        medians = {name: statistics.median(one[name] for one in rounds) for name in ("wall_s", "processor_s")}
        table.add(state=state, run=turn, **medians)
    results.write(args, {"runs": table.rows, "rounds": args.rounds})


if __name__ == "__main__":
    main()
