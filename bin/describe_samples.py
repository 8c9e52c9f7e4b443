#!/usr/bin/env python3
"""Describe samples: clones, clone sizes, genes, CDR3 lengths, V–J pairs, diversity and rarefaction."""

from pathlib import Path

from airrvec.core import database, runtime, script, settings, tables
from airrvec.core.missing import optional_part
from airrvec.core.progress import step
from airrvec.core.schema.samples import SAMPLE_TABLES

import pyarrow as pa

# Functions of `airrvec.repertoire.description` that make a table each.
MADE = {
    name: f"{name}_table"
    for name in ("largest_clones", "clone_sizes", "gene_usage", "cdr3_lengths", "vj_pairing")
}


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
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        carried = description.read_carried(connection, args.clones)
        made = {}
        for name, table in MADE.items():
            with step(name.replace("_", " ")):
                made[name] = getattr(description, table)(carried)
        counts = carried.counts()
    units = {str(sample): unit for sample, unit in carried.samples["count_unit"].items()}
    diversities, groups = _diversity(counts, units)
    for name, table in {**made, **diversities}.items():
        tables.write_both(table, args.outdir / name)
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


def _diversity(counts, units: dict[str, str]) -> tuple[dict[str, pa.Table], list[dict]]:
    """Return diversity and rarefaction of each species and class of chains, and these, largest first."""
    from airrvec.repertoire import diversity

    parts = {name: [SAMPLE_TABLES[name].empty_table()] for name in ("diversity", "rarefaction")}
    groups = []
    for (species, chains), samples in counts.items():
        parts["diversity"].append(diversity.diversity_table(samples, units, species, chains))
        parts["rarefaction"].append(diversity.rarefaction_table(samples, units, species, chains))
        clonotypes = sum(len(numbers) for numbers in samples.values())
        groups.append({"species": species, "chains": chains, "clonotypes": clonotypes})
    tables_of_all = {name: pa.concat_tables(made) for name, made in parts.items()}
    return tables_of_all, sorted(groups, key=lambda group: -group["clonotypes"])


if __name__ == "__main__":
    main()
