#!/usr/bin/env python3
"""Combine the measurements of all encoders into the table and figure of an analysis; list what is missing."""

from pathlib import Path

from airrvec import analyses
from airrvec.analyses.material import nearest_neighbour_auroc
from airrvec.core import schema, script, tables
from airrvec.core.missing import optional_part
from airrvec.encoders import Titles
from airrvec.figures import analyses as drawings
from airrvec.figures import style

import pyarrow as pa

NO_TABLE = "there is no labelled receptor table (--labelled)"


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("measured", type=Path, nargs="*", help="files written by analyse_receptors.py")
    parser.add_argument("--analysis", choices=analyses.ANALYSES, required=True, help="name of the analysis")
    parser.add_argument("--encoders", default="", help="encoder names, in the order of tables and figures")
    parser.add_argument("--auroc", type=Path, help="auroc_summary.parquet of the benchmark")
    parser.add_argument(
        "--exclude-references", default="none", help="use the rows of --auroc with this text in excluded"
    )
    script.add_options(parser, "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("analysis")
def main(argv=None):
    args = parse_args(argv)
    analysis = analyses.load(args.analysis)
    parts = {tables.metadata(path)["encoder"]: path for path in args.measured}
    titles = Titles({name: tables.metadata(path)["title"] for name, path in parts.items()})
    order = [name for name in args.encoders.split(",") if name in parts] or sorted(parts)
    reasons = {name: tables.metadata(parts[name]).get("reason") for name in order}
    not_done = [{"encoder": name or None, "reason": reason} for name, reason in reasons.items() if reason]
    done = [tables.read(parts[name]) for name in order if not reasons[name]]
    if not parts:
        not_done = [{"encoder": None, "reason": NO_TABLE}]
    table = analysis.SCHEMA.empty_table()
    if done:
        summary = tables.read(args.auroc).to_pandas() if args.auroc else None
        try:
            measured = pa.concat_tables(done)
            if hasattr(analysis, "conclude"):
                auroc = nearest_neighbour_auroc(summary, excluded=args.exclude_references)
                measured = analysis.conclude(measured, auroc)
            table = measured
        except analyses.AnalysisSkipped as problem:
            not_done.append({"encoder": None, "reason": str(problem)})
    tables.write_both(table, args.outdir / args.analysis)
    if len(table):
        style.save(drawings.load(args.analysis).draw(table, titles), args.outdir / args.analysis)
    if not_done:
        reasons = pa.Table.from_pylist(
            [{"analysis": args.analysis, **row} for row in not_done], schema.NOT_DONE
        )
        tables.write_tsv(reasons, args.outdir / f"{args.analysis}_not_done.tsv")
    script.write_versions(args, "matplotlib", "numpy", "pandas", "pyarrow", "scipy")


if __name__ == "__main__":
    main()
