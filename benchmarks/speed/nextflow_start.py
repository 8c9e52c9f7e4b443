#!/usr/bin/env python3
"""
Time in which Nextflow reads configuration and scripts of the pipeline, and starts no task (`-preview`).

Of this state of the code and, by turns, of another one with `--before CHECKOUT`, each with its own launcher:
means of the rounds.

    python benchmarks/speed/nextflow_start.py --rounds 5 --before OLDER
"""

import statistics
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

from benchmarks.common import results
from benchmarks.common.timing import nextflow


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another state of the code")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    states = {"now": ROOT} | ({"before": args.before.resolve()} if args.before else {})
    measured: dict[str, list[dict[str, float]]] = {state: [] for state in states}
    with TemporaryDirectory() as folder:
        for _ in range(args.rounds):
            for state, root in states.items():
                words = ["-q", "run", root, "-profile", "demo", "-preview", "--outdir", "results"]
                measured[state].append(nextflow(root, *words, cwd=folder))
    table = results.Table(state="", wall_s=".1f", processor_s=".1f")
    for state, rounds in measured.items():
        means = {name: statistics.mean(one[name] for one in rounds) for name in ("wall_s", "processor_s")}
        table.add(state=state, **means)
    results.write(args, {"start": table.rows, "rounds": args.rounds})


if __name__ == "__main__":
    main()
