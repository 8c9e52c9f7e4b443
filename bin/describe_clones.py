#!/usr/bin/env python3
"""Describe clones: their call, their cluster, and their cells in each sample."""

from pathlib import Path

from airrvec.core import database, script, tables


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="folder written by count_clones.py")
    parser.add_argument(
        "--annotation", type=Path, nargs="*", default=[], help="<sample>.parquet: calls of some samples"
    )
    parser.add_argument("--members", type=Path, help="members of the clusters")
    script.add_options(parser, "memory", "threads", "outdir")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    from airrvec.repertoire import clone_table

    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        clones = clone_table.described(connection, args.clones, args.annotation, args.members)
    metadata = {"clone_by": tables.metadata(args.clones / "clones.parquet")["clone_by"]}
    tables.write_both(clones, args.outdir / "clones", metadata)
    if len(clones) <= tables.SPREADSHEET:
        wide = clone_table.counts_by_sample(clones, tables.read(args.clones / "counts.parquet"))
        tables.write_tsv(wide, args.outdir / "clones_by_sample.tsv")
    script.write_versions(args, "duckdb", "numpy", "pyarrow")


if __name__ == "__main__":
    main()
