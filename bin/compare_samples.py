#!/usr/bin/env python3
"""Samples beside each other: diversity, overlap, distances of their vectors, and conditions."""

import json

import pyarrow as pa

from airrvec import cli, schema, tables
from airrvec.errors import exit_on_input_error

SCHEMAS = {
    "diversity": schema.DIVERSITY,
    "pairs": schema.SAMPLE_PAIRS,
    "samples_pca": schema.SAMPLES_PCA,
    "conditions": schema.SAMPLE_CONDITIONS,
}


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    cli.add_repertoire_options(parser)
    parser.add_argument("--compared", type=int, default=1000, help="receptors of a sample in kernel tests")
    parser.add_argument("--permutations", type=int, default=999)
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    cli.limit_threads(args.cpus)
    repertoires = cli.repertoires(args)
    conditions = repertoires.conditions(args.condition)
    results, radii = _measured(args, repertoires)
    for name, of_name in SCHEMAS.items():
        table = pa.concat_tables([of_name.empty_table(), *(found[name] for found in results)])
        tables.write_both(table, args.outdir / name)
    qc = {
        "samples": list(repertoires.samples.index),
        "condition": args.condition,
        "values": conditions.dropna().value_counts().sort_index().to_dict(),
        "of_sample": conditions.dropna().to_dict(),
        "chance": args.chance,
        "radius": radii,
        "compared": args.compared,
        "permutations": args.permutations,
        "abundance": args.abundance,
    }
    tables.write_text(json.dumps(qc, indent=2) + "\n", args.outdir / "comparison.qc.json")
    cli.write_versions(args, "numba", "numpy", "olga", "pyarrow", "scipy", "torch")


def _measured(args, repertoires) -> tuple[list[dict[str, pa.Table]], dict[str, float]]:
    """The tables of each class of chains, and its radius."""
    from airrvec import sample_tables

    results, radii = [], {}
    for chains, _, _, radius in cli.by_chance(args, repertoires):
        samples = sample_tables.Samples(
            repertoires, chains, radius, args.compared, args.permutations, args.seed, args.cpus
        )
        diversity = sample_tables.diversity_table(samples)
        results.append(
            {
                "diversity": diversity,
                "pairs": sample_tables.pairs_table(samples),
                "samples_pca": sample_tables.pca_table(samples),
                "conditions": sample_tables.conditions_table(samples, args.condition, diversity),
            }
        )
        radii[chains] = radius
    return results, radii


if __name__ == "__main__":
    main()
