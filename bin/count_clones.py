#!/usr/bin/env python3
"""Count clones: which cells of a donor are one clone, and how many each sample has."""

from pathlib import Path

from airrvec.core import database, script, settings, tables

GROUP = 2**14  # rows of the tables sorted by sample that are read at once: few beyond those of a sample


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="<sample>.cells.parquet of each")
    parser.add_argument(
        "--chains", type=Path, nargs="+", required=True, help="<sample>.chains.parquet of each"
    )
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the run, file or folder")
    parser.add_argument("--labelled", type=Path, nargs="*", default=[], help="labelled cells, for epitopes")
    settings.add(parser, "clone_by")
    script.add_options(parser, "memory", "threads", "outdir")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    from airrvec.repertoire import clones
    from airrvec.repertoire.description import read_labels

    labels = read_labels([*args.cells, *args.labelled])
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        made = clones.count_clones(connection, args.cells, args.chains, args.receptors, args.clone_by, labels)
        made.clones.write(args.outdir / "clones.parquet", {"clone_by": made.by})
        made.counts.write(args.outdir / "counts.parquet", group=GROUP)
        made.members.write(args.outdir / "members.parquet", group=GROUP)
    tables.write(made.samples, args.outdir / "samples.parquet")
    tables.write_json(clones.summary(made), args.outdir / "clones.qc.json")
    script.write_versions(args, "duckdb", "numpy", "pyarrow", "scipy")


if __name__ == "__main__":
    main()
