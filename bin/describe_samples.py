#!/usr/bin/env python3
"""Describe samples: clones, clone sizes, genes, CDR3 lengths, V–J pairs, diversity and rarefaction."""

from pathlib import Path

from airrvec.core import database, runtime, script, settings, tables
from airrvec.core.missing import optional_part


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="folder written by count_clones.py")
    settings.add(parser, "compare_by", help="metadata column by which the report groups the samples")
    script.add_options(parser, "memory", "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("samples")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.repertoire import description

    conditions = _conditions(args)
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        carried = description.read_carried(connection, args.clones)
        made, groups = description.described(carried)
    for name, table in made.items():
        tables.write_both(table, args.outdir / name)
    units = {str(sample): unit for sample, unit in carried.samples["count_unit"].items()}
    qc = {
        "samples": list(units),
        "groups": groups,
        "units": units,
        "of_sample": conditions,
    }
    tables.write_json(qc, args.outdir / "samples.qc.json")
    script.write_versions(args, "duckdb", "numpy", "pandas", "pyarrow", "scipy")


def _conditions(args) -> dict[str, str]:
    """Return the condition of each sample that has one."""
    from airrvec.repertoire import description

    return (
        description.read_condition(args.clones / "samples.parquet", args.compare_by)
        if args.compare_by
        else {}
    )


if __name__ == "__main__":
    main()
