#!/usr/bin/env python3
"""Describe clones: their call, their cluster, the evidence for an epitope, and their cells in each sample."""

import json
from collections.abc import Iterator
from pathlib import Path

from airrvec.core import database, hla, schema, script, table_parts, tables

import pyarrow as pa


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="folder written by count_clones.py")
    parser.add_argument(
        "--annotation", type=Path, nargs="*", default=[], help="<sample>.parquet: calls of some samples"
    )
    parser.add_argument(
        "--annotated", type=Path, nargs="*", default=[], help="<sample>.annotation.qc.json: their donors' HLA"
    )
    parser.add_argument("--reference", type=Path, help="receptors of the reference, which made the calls")
    parser.add_argument("--members", type=Path, help="members of the clusters")
    parser.add_argument("--clusters", type=Path, help="clusters, without --members of no use")
    parser.add_argument("--radius", type=Path, help="clusters.qc.json, if the same vectors made the calls")
    script.add_options(parser, "memory", "threads", "outdir")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    from airrvec.repertoire import clone_table

    path = args.outdir / "clones"
    metadata = {"clone_by": tables.metadata(args.clones / "clones.parquet")["clone_by"]}
    with (
        database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection,
        table_parts.writer_of_both(path, schema.CLONES, metadata) as append,
    ):
        parts = clone_table.described(connection, args.clones, args.annotation, args.members)
        if args.annotation and args.reference:
            parts = _with_evidence(args, connection, parts)
        for part in parts:
            append(part)
    if tables.n_rows(f"{path}.parquet") <= tables.SPREADSHEET:
        counts = tables.read(args.clones / "counts.parquet")
        wide = clone_table.counts_by_sample(tables.read(f"{path}.parquet"), counts)
        tables.write_tsv(wide, args.outdir / "clones_by_sample.tsv")
    script.write_versions(args, "duckdb", "numpy", "pyarrow")


def _with_evidence(args, connection, parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the clones with their evidence, and write the references in the clusters."""
    from airrvec.annotation import clone_evidence

    typings = {
        sample["sample_id"]: hla.parse_typing(sample["hla"])
        for sample in (json.loads(path.read_text()) for path in args.annotated)
        if sample.get("hla")
    }
    groups = json.loads(args.radius.read_text())["groups"] if args.radius else []
    sources = clone_evidence.Sources(
        reference=args.reference,
        annotation=args.annotation,
        clusters=args.clusters,
        members=args.members,
        radius={(group["species"], group["chains"]): group["radius"] for group in groups},
        donors=typings,
    )
    near = clone_evidence.cluster_references(connection, sources)
    if args.members:
        tables.write_both(near, args.outdir / "references")
    for clones in parts:
        evidence = clone_evidence.evidence_of(connection, clones, sources, near)
        for name in evidence.column_names:
            place = clones.schema.get_field_index(name)
            clones = clones.set_column(place, clones.field(name), evidence[name])
        yield clones


if __name__ == "__main__":
    main()
