#!/usr/bin/env python3
"""Embeddings of shards as one table, one row for each receptor of the run or partition, checked by key."""

import json
from pathlib import Path

from airrvec import cli, tables
from airrvec.errors import InputError, exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("shards", type=Path, nargs="+", help="embeddings of each shard")
    parser.add_argument("--receptors", type=Path, required=True, help="those of all shards")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--qc", type=Path, required=True, help="JSON file for what was embedded")
    return parser.parse_args(argv)


def _first_receptor(shard: Path) -> list[str]:
    """Its receptor_id, or none."""
    return tables.read(shard, ["receptor_id"])["receptor_id"].slice(0, 1).to_pylist()


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    metadata = tables.metadata(args.shards[0])
    if any(tables.metadata(shard) != metadata for shard in args.shards):
        raise InputError("shards were embedded by different models or versions")
    # A shard is a range of the sorted receptor_ids; the order of the files means nothing.
    shards = sorted(args.shards, key=_first_receptor)
    expected = tables.read(args.receptors, ["receptor_id"])["receptor_id"]
    done = n_null = 0
    with tables.writer(args.out, tables.arrow_schema(shards[0]), metadata) as writer:
        for shard in map(tables.read, shards):
            if not shard["receptor_id"].equals(expected.slice(done, len(shard))):
                raise InputError("the embedded receptors are not those of the run")
            done += len(shard)
            n_null += shard["dim_01"].null_count
            writer.write_table(shard)
        if done != len(expected):
            raise InputError(f"{len(expected) - done} receptors of the run were not embedded")
        n_dimensions = shard.num_columns - 1
    qc = {**metadata, "dimensions": n_dimensions, "receptors": done, "without_vector": n_null}
    tables.write_text(json.dumps(qc, indent=2) + "\n", args.qc)
    cli.write_versions(args, "pyarrow")


if __name__ == "__main__":
    main()
