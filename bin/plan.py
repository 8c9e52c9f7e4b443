#!/usr/bin/env python3
"""Estimate the resources of a run: a table of its tasks, for the terminal and as a file."""

import json
from pathlib import Path

from airrvec.app import planning
from airrvec.core import script, tables
from airrvec.core.errors import exit_on_input_error
from airrvec.core.terminal import print_lines


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("tables", type=Path, nargs="+", help="all input tables, references too")
    parser.add_argument(
        "--request", type=Path, required=True,
        help="JSON: layouts of the tables (part, format, species, columns), multichain, max_unpacked, and the"
        " arguments of planning.plan",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, help="TSV")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    request = json.loads(args.request.read_text())
    layouts = request.pop("layouts")
    reading = {"multichain": request.pop("multichain")}
    reading["max_unpacked"] = int(request.pop("max_unpacked") * script.GB)
    estimates = [
        planning.estimate_table(
            table, layout["format"] or None, layout["columns"], species=layout["species"], **reading
        )
        for table, layout in zip(args.tables, layouts, strict=True)
    ]
    # Samples, the labelled table, references.
    parts = {part: [] for part in ("sample", "labelled", "reference")}
    for layout, estimate in zip(layouts, estimates, strict=True):
        parts[layout["part"]].append(estimate)
    samples = parts["sample"] + parts["labelled"]
    plan = planning.plan(samples, parts["reference"], further=request.pop("others"), **request)
    tables.write_tsv(plan, args.out)
    print_lines(*planning.format_plan(estimates, plan).split("\n"))
    script.write_versions(args, "pyarrow", "tidytcells")


if __name__ == "__main__":
    main()
