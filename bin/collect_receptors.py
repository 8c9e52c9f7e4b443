#!/usr/bin/env python3
"""Distinct receptors of all samples, sorted by receptor_id, and their shards."""

import tempfile
from pathlib import Path

import duckdb

from airrvec import cli, schema, tables
from airrvec.errors import exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("receptors", type=Path, nargs="+", help="receptors of each sample")
    parser.add_argument("--shard-size", type=int, default=250_000, help="receptors in a shard")
    parser.add_argument("--memory", default="2GB", help="memory for duckdb, which spills to disk beyond")
    parser.add_argument("--cpus", type=int, default=1, help="threads")
    parser.add_argument("--outdir", type=Path, default=Path("."))
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    args.outdir.mkdir(parents=True, exist_ok=True)
    spill = tempfile.TemporaryDirectory(dir=args.outdir)
    config = {"memory_limit": args.memory, "threads": args.cpus, "temp_directory": spill.name}
    connection = duckdb.connect(config=config)
    distinct = connection.read_parquet([str(path) for path in args.receptors]).distinct()
    batches = distinct.order("receptor_id").to_arrow_reader(args.shard_size)
    with tables.writer(args.outdir / "receptors.parquet", schema.RECEPTORS) as receptors:
        for number, shard in enumerate(tables.rebatched(batches, args.shard_size)):
            shard = shard.select(schema.RECEPTORS.names).cast(schema.RECEPTORS)
            receptors.write_table(shard)
            tables.write(shard, args.outdir / "shards" / f"shard_{number:04d}.parquet")
    cli.write_versions(args, "duckdb", "pyarrow")


if __name__ == "__main__":
    main()
