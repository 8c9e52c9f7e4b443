#!/usr/bin/env python3
"""Describe samples: clones, clone sizes, genes, CDR3 lengths, V–J pairs, diversity and rarefaction."""

from pathlib import Path

from airrvec.core import database, runtime, script, settings, tables
from airrvec.core.missing import optional_part
from airrvec.core.progress import counter
from airrvec.core.schema.samples import SAMPLE_TABLES

import numpy as np
import pyarrow as pa


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
    parts = {name: [table_schema.empty_table()] for name, table_schema in SAMPLE_TABLES.items()}
    counts: dict[tuple[str, str], dict[str, np.ndarray]] = {}
    units: dict[str, str] = {}
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        samples = description.read_samples(connection, args.clones)
        described = counter("samples described", len(samples))
        for sample in samples:
            parts["largest_clones"].append(description.largest_clones_table(sample))
            parts["clone_sizes"].append(description.clone_sizes_table(sample))
            parts["gene_usage"].append(description.gene_usage_table(sample))
            parts["cdr3_lengths"].append(description.cdr3_lengths_table(sample))
            parts["vj_pairing"].append(description.vj_pairing_table(sample))
            for key, numbers in sample.counts().items():
                counts.setdefault(key, {})[sample.sample_id] = numbers
            units[sample.sample_id] = sample.count_unit
            described(1)
    groups = _add_diversity(parts, counts, units)
    for name, tables_of_samples in parts.items():
        tables.write_both(pa.concat_tables(tables_of_samples), args.outdir / name)
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


def _add_diversity(parts: dict[str, list[pa.Table]], counts, units: dict[str, str]) -> list[dict]:
    """Add diversity and rarefaction of each species and class of chains; return the groups, largest first."""
    from airrvec.repertoire import diversity

    groups = []
    for (species, chains), sample_counts in counts.items():
        parts["diversity"].append(diversity.diversity_table(sample_counts, units, species, chains))
        parts["rarefaction"].append(diversity.rarefaction_table(sample_counts, units, species, chains))
        clonotypes = sum(len(numbers) for numbers in sample_counts.values())
        groups.append({"species": species, "chains": chains, "clonotypes": clonotypes})
    return sorted(groups, key=lambda group: -group["clonotypes"])


if __name__ == "__main__":
    main()
