#!/usr/bin/env python3
"""Compare samples by a column of the samplesheet: tests, what tells its values apart, clones that change."""

from pathlib import Path

from airrvec.core import database, script, settings, tables
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part

LEAST_TABLES = ("diversity", "clone_sizes", "gene_usage", "cdr3_lengths")
GAMMA_DELTA_TESTS = "gamma_delta_tests"


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="folder written by count_clones.py")
    parser.add_argument("--described", type=Path, required=True, help="folder written by describe_samples.py")
    parser.add_argument(
        "--table", type=Path, required=True, help="clones with calls and clusters, by describe_clones.py"
    )
    parser.add_argument("--comparison", type=Path, help="folder written by compare_samples.py")
    parser.add_argument("--gamma-delta", type=Path, help="folder written by describe_gamma_delta.py")
    parser.add_argument("--samplesheet", type=Path, help="whose order of samples is that of the values")
    settings.add(parser, "compare_by", required=True)
    settings.add(parser, "compare_within", "compare_permutations")
    script.add_options(parser, "seed", "memory", "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("conditions")
def main(argv=None):
    args = parse_args(argv)
    from airrvec.repertoire import clone_table, conditions, confounders, following
    from airrvec.stats.designs import designs

    samples = conditions.read_samples(args.clones, _order(args.samplesheet))
    for name in filter(None, (args.compare_by, args.compare_within)):
        if name not in samples:
            raise InputError(f"the samplesheet has no column '{name}'", file=args.samplesheet)
    if not all((args.described / f"{name}.parquet").exists() for name in LEAST_TABLES):
        raise InputError("the description of the samples, from which they are compared, is missing")
    made = designs(samples, args.compare_by, args.compare_within)
    comparison = args.comparison
    if comparison and not (comparison / "sample_vectors.parquet").exists():
        comparison = None  # without --compare, or it could not be made
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        counted = clone_table.counted_clones(connection, args.clones / "counts.parquet", args.table)
        measures = conditions.measures(counted, args.described)
        pairs = tables.read(comparison / "pairs.parquet").to_pandas() if comparison else None
        common = (args.compare_by, args.compare_permutations, args.seed)
        tests = conditions.tests_table(measures, pairs, made, *common)
        sets = confounders.feature_sets(
            connection, samples, args.compare_by, measures, args.clones, args.described, comparison
        )
        told = confounders.told_table(sets, samples, made, *common)
        steps, changes = following.followed(following.Counted(counted), samples, args.compare_by, args.table)
    tables.write_both(tests, args.outdir / "tests")
    numbers = conditions.measures_table(measures, tests, samples, args.compare_by)
    tables.write_both(numbers, args.outdir / "measures")
    if args.gamma_delta and (args.gamma_delta / "clones.parquet").exists():
        apart = _gamma_delta_measures(args)
        tables.write_both(conditions.tests_table(apart, None, made, *common), args.outdir / GAMMA_DELTA_TESTS)
    tables.write_both(told, args.outdir / "told")
    tables.write_both(steps, args.outdir / "steps")
    tables.write_both(changes, args.outdir / "changes")
    qc = {
        "condition": args.compare_by,
        "within": args.compare_within,
        "values": samples[args.compare_by].dropna().value_counts(sort=False).to_dict(),
        "donors_named": not samples["donor"].equals(samples.index.to_series()),
        "designs": [design.described() for design in made],
        "not_measured": conditions.not_measured(measures, made),
    }
    tables.write_json(qc, args.outdir / "conditions.qc.json")
    script.write_versions(args, "duckdb", "numpy", "pandas", "pyarrow", "scipy")


def _gamma_delta_measures(args) -> list:
    """Return what is measured of the γδ cells of each sample."""
    from airrvec.repertoire import clone_table, conditions

    counts, table = (args.gamma_delta / f"{name}.parquet" for name in ("counts", "clones"))
    with database.connect(args.outdir, memory=args.memory, threads=args.threads) as connection:
        counted = clone_table.counted_clones(connection, counts, table, with_calls=False)
        return conditions.measures(counted, args.gamma_delta)


def _order(samplesheet: Path | None) -> list[str] | None:
    """Return the names of samples in the order of the samplesheet."""
    if samplesheet is None:
        return None
    from airrvec.input.samplesheet import sheet

    return [
        sample.name for sample in sheet.read(samplesheet, "homosapiens").samples if sample.role == "sample"
    ]


if __name__ == "__main__":
    main()
