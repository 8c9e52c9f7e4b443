#!/usr/bin/env python3
"""Collect the distinct receptors of all samples or of a partition, sorted by clonotype, and their shards."""

from functools import reduce
from pathlib import Path

from airrvec.core import database, identity, schema, script, settings, tables
from airrvec.core.errors import exit_on_input_error
from airrvec.core.pages import check_pages
from airrvec.model.tokens import shards

import duckdb
import numpy as np
import pyarrow as pa

BATCH = 100_000  # receptors


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("receptors", type=Path, nargs="*", help="receptors of each sample")
    parser.add_argument("--labelled", type=Path, help="receptors of the labelled table; it is not a sample")
    settings.add(parser, "shard_tokens")
    parser.add_argument("--part", default="", help="suffix of the file names, e.g. _0003 for a partition")
    script.add_options(parser, "memory", "threads", "outdir")
    return parser.parse_args(argv)


def collected(connection, samples: list[Path], labelled: Path | None) -> duckdb.DuckDBPyRelation:
    """Return each receptor of the files once, with the number of samples that contain its clonotype."""
    columns = ", ".join(schema.RECEPTORS.names)
    occurrences = reduce(
        duckdb.DuckDBPyRelation.union,
        [
            connection.read_parquet([str(path) for path in paths], filename=True).project(
                f"{columns}, {sample}"
            )
            for paths, sample in (
                (samples, "filename AS sample"),
                ([labelled] if labelled else [], "NULL::VARCHAR AS sample"),
            )
            if paths
        ],
    )
    # A receptor may be in several parts of a sample.
    n_samples = occurrences.aggregate("clonotype_id, count(DISTINCT sample) AS n_samples")
    receptors = occurrences.project(columns).distinct().set_alias("receptors")
    return receptors.join(n_samples.set_alias("counted"), "clonotype_id")


def first_of_clonotypes(receptors: pa.Table, before: str | None) -> np.ndarray:
    """Return whether each sorted receptor is the first of its clonotype; ``before``: previous clonotype."""
    ids = receptors["clonotype_id"].to_numpy()
    return ids != np.concatenate([np.array([before], object), ids[:-1]])[: len(ids)]


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    path = args.outdir / f"receptors{args.part}.parquet"
    counts = {"receptors": 0, "clonotypes": 0, "public_clonotypes": 0}
    last = None
    for file in (*args.receptors, *([args.labelled] if args.labelled else [])):
        check_pages(file)
    with (
        database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection,
        tables.writer(path, schema.COLLECTED_RECEPTORS) as receptors,
    ):
        distinct = collected(connection, args.receptors, args.labelled)
        columns = distinct.project(", ".join((*schema.RECEPTORS.names, "n_samples")))
        in_order = columns.order("clonotype_id, receptor_id")
        for number, shard in enumerate(shards(in_order.to_arrow_reader(BATCH), args.shard_tokens)):
            shard = identity.with_genes(shard).cast(schema.COLLECTED_RECEPTORS)
            receptors.write_table(shard)
            to_embed = shard.select(schema.RECEPTORS.names)
            tables.write(to_embed, args.outdir / "shards" / f"shard{args.part}_{number:04d}.parquet")
            clonotypes = shard.filter(first_of_clonotypes(shard, last))
            counts["receptors"] += len(shard)
            counts["clonotypes"] += len(clonotypes)
            counts["public_clonotypes"] += int(np.count_nonzero(clonotypes["n_samples"].to_numpy() > 1))
            last = shard["clonotype_id"][-1].as_py() if len(shard) else last
    qc = {"samples": len(args.receptors), **counts}
    tables.write_json(qc, args.outdir / f"receptors{args.part}.qc.json")
    script.write_versions(args, "duckdb", "pyarrow", "tidytcells")


if __name__ == "__main__":
    main()
