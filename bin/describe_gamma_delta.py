#!/usr/bin/env python3
"""Describe γδ T cells: receptors, clones, genes, CDR3 lengths, diversity, and clusters by TCRdist."""

from pathlib import Path

from airrvec.core import database, runtime, schema, script, settings, tables
from airrvec.core.missing import optional_part
from airrvec.core.schema.gamma_delta import FOLDER

import pyarrow as pa


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, nargs="+", required=True, help="γδ cells of each sample")
    parser.add_argument("--chains", type=Path, nargs="+", required=True, help="their chains, in this order")
    parser.add_argument("--cluster", action="store_true", help="cluster the receptors by TCRdist")
    settings.add(parser, "clone_by", "cluster_method", "seed")
    script.add_options(parser, "memory", "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("gamma_delta")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.repertoire import clones, description, gamma_delta

    outdir = args.outdir / FOLDER
    tables.write(gamma_delta.read_receptors(args.cells), outdir / "receptors.parquet")
    labels = description.read_labels(args.cells)
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        layout = (args.cells, args.chains, outdir / "receptors.parquet", args.clone_by)
        made = clones.count_clones(connection, *layout, labels, schema.GAMMA_DELTA)
        counted, counts = made.clones.table(), made.counts.table()
        made.members.write(outdir / "members.parquet")
    clusters, table = schema.GAMMA_DELTA_CLUSTERS.empty_table(), _without_clusters(counted)
    if args.cluster:
        clusters, table = gamma_delta.clusters_table(counted, counts, args.cluster_method, seed=args.seed)
        tables.write_both(clusters, outdir / "clusters")
    tables.write_both(table, outdir / "clones", {"clone_by": made.by})
    tables.write(counts, outdir / "counts.parquet")
    tables.write(made.samples, outdir / "samples.parquet")
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        described, groups = description.described(
            description.read_carried(connection, outdir, schema.GAMMA_DELTA)
        )
    for name, described_clones in described.items():
        tables.write_both(described_clones, outdir / name)
    names, units = (made.samples[name].to_pylist() for name in ("sample_id", "count_unit"))
    qc = clones.summary(made) | {
        "units": dict(zip(names, units, strict=True)),
        "groups": groups,
        "clones": len(table),
        "clusters": len(clusters) if args.cluster else None,
        "clustered": len(table) - table["cluster_id"].null_count,
    }
    tables.write_json(qc, outdir / "gamma_delta.qc.json")
    script.write_versions(args, "duckdb", "igraph", "numba", "numpy", "pandas", "pyarrow", "scipy")


def _without_clusters(clones: pa.Table) -> pa.Table:
    """Return the table of clones for a run without clusters."""
    nothing = pa.nulls(len(clones), pa.string())
    return clones.append_column("cluster_id", nothing).select(schema.GAMMA_DELTA_CLONES.names)


if __name__ == "__main__":
    main()
