#!/usr/bin/env python3
"""Merge embeddings of shards into one table: one row per receptor of the run or partition, checked by key."""

from pathlib import Path

from airrvec.core import script, tables, vectors
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.terminal import counted

import pyarrow as pa
import pyarrow.compute as pc


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("shards", type=Path, nargs="+", help="embeddings of each shard")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of all shards")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file of all vectors")
    parser.add_argument("--qc", type=Path, required=True, help="JSON file for the counts")
    return parser.parse_args(argv)


def merged_metadata(shards: list[Path]) -> dict[str, str]:
    """
    Return the metadata that all shards share, with the names of all devices.

    Raises
    ------
    InputError
        If the shards differ in anything but the device, e.g. in the model. Vectors of two devices are equal
        within rounding, vectors of two models are not.
    """
    vectors.read_model(*shards)
    per_shard = [tables.metadata(shard) for shard in shards]
    merged = tables.merge_metadata(per_shard)
    for name in merged:
        values = {one.get(name, "nothing") for one in per_shard}
        if len(values) > 1 and name != "device":
            raise InputError(f"shards were embedded with different {name}: {', '.join(sorted(values))}")
    return merged


def place(shard: Path, receptor_ids: pa.ChunkedArray) -> int:
    """Return the row of the shard's first receptor in the run; the order of the files is arbitrary."""
    first = tables.read(shard, ["receptor_id"])["receptor_id"]
    return pc.index(receptor_ids, first[0]).as_py() if len(first) else -1


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    metadata = merged_metadata(args.shards)
    expected = tables.read(args.receptors, ["receptor_id"])["receptor_id"]
    shards = sorted(args.shards, key=lambda shard: place(shard, expected))
    done = 0
    with tables.writer(args.out, tables.arrow_schema(shards[0]), metadata) as writer:
        for shard in map(tables.read, shards):
            if not shard["receptor_id"].equals(expected.slice(done, len(shard))):
                raise InputError("the embedded receptors are not those of the run")
            done += len(shard)
            writer.write_table(shard)
        if done != len(expected):
            n = counted(len(expected) - done, "receptor of the run was", "receptors of the run were")
            raise InputError(f"{n} not embedded")
    vectors.write_counts(args.out, args.qc)
    script.write_versions(args, "pyarrow")


if __name__ == "__main__":
    main()
