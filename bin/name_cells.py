#!/usr/bin/env python3
"""Name the cells of one or more samples: a unique name for each, in the order of the cells."""

from pathlib import Path

from airrvec.core import database, script, tables
from airrvec.core.missing import optional_part
from airrvec.input import cells


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("cells", type=Path, nargs="+", help="cells of each sample")
    parser.add_argument("--out", type=Path, required=True, help="names of the cells (Parquet)")
    script.add_options(parser, "memory", "cpus", "missing")
    return parser.parse_args(argv)


@optional_part("export")
def main(argv=None):
    args = parse_args(argv)
    with database.connect(args.out.parent, memory=args.memory, threads=args.cpus) as connection:
        tables.write(cells.names_across_samples(connection, args.cells).to_arrow_table(), args.out)
    script.write_versions(args, "duckdb", "pyarrow")


if __name__ == "__main__":
    main()
