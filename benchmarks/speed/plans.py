#!/usr/bin/env python3
"""
Plans beside runs: processor time of each process as ``--dry_run`` tells it, and as Nextflow's trace has it.

A plan is made by the command of a run with ``--dry_run`` and another ``--outdir``.

    python benchmarks/speed/plans.py --run demonstration plan/pipeline_info/plan.tsv \\
        results/pipeline_info/execution_trace.txt
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bin"), str(ROOT)]

import pandas as pd

from benchmarks.common import results


def parse_args(argv=None):
    parser = results.Parser(__file__, __doc__)
    parser.add_argument(
        "--run", nargs=3, action="append", required=True, metavar=("NAME", "PLAN", "TRACE"),
        help="name of a run, its plan.tsv, its execution_trace.txt",
    )  # fmt: skip
    return parser.parse_args(argv)


def compared(name: str, plan: Path, trace: Path) -> pd.DataFrame:
    """Return a row for each process of the run: seconds of one core, planned and used, and their ratio."""
    tasks = pd.read_csv(trace, sep="\t", na_values="-").query("status == 'COMPLETED'")
    tasks["process"] = tasks["process"].str.split(":").str[-1]
    tasks["run_s"] = tasks["realtime"] * tasks["%cpu"] / 1e5
    used = tasks.groupby("process", sort=False).agg(tasks=("run_s", "size"), run_s=("run_s", "sum"))
    planned = pd.read_csv(plan, sep="\t").set_index("process")
    used["planned_s"] = planned["tasks"] * planned["seconds_each"]
    used["ratio"] = used["planned_s"] / used["run_s"]
    return used.reset_index().assign(run=name)


def empty(args) -> dict[str, None]:
    """Return the columns of a process that is in no run."""
    return {f"{name}_{part}": None for name, _, _ in args.run for part in ("planned_s", "run_s")}


def main(argv=None):
    args = parse_args(argv)
    table = results.Table(run="", process="", tasks="d", planned_s=",.1f", run_s=",.1f", ratio=".2f")
    frame = pd.concat(compared(name, Path(plan), Path(trace)) for name, plan, trace in args.run)
    for cells in frame[list(table.columns)].to_dict("records"):
        table.add(**{str(name): None if pd.isna(value) else value for name, value in cells.items()})
    ratios = frame.dropna(subset="ratio").set_index("process")["ratio"]
    is_within = ratios.between(0.5, 2)
    wide: dict[str, dict] = {}
    for row in table.rows:
        keys = {f"{row['run']}_{name}": row[name] for name in ("planned_s", "run_s")}
        wide.setdefault(row["process"], {"process": row["process"], **empty(args)}).update(keys)
    figures = {
        "runs": table.rows,
        "processes": list(wide.values()),
        "within_two": int(is_within.sum()),
        "planned": len(ratios),
        "not_planned": sorted({*frame.loc[frame["ratio"].isna(), "process"]}),
        "outside": sorted({*ratios[~is_within].index}),
    }
    print(
        f"\n{figures['within_two']} of {figures['planned']} within a factor of two; not: {figures['outside']}"
    )
    results.write(args, figures)


if __name__ == "__main__":
    main()
