#!/usr/bin/env python3
"""Compare samples: overlap, distances of their vectors, public receptors."""

from airrvec.core import runtime, schema, script, settings, tables
from airrvec.core.missing import optional_part
from airrvec.core.vectors import read_model
from airrvec.repertoire.options import add_repertoire_options, comparison_groups, read_repertoires

import pyarrow as pa

SCHEMAS = {
    "pairs": schema.SAMPLE_PAIRS,
    "samples_pca": schema.SAMPLES_PCA,
}


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_repertoire_options(parser)
    settings.add(parser, "compare_by", help="metadata column by which the report colours the samples")
    settings.add(parser, "compare_receptors", "compare_permutations", "compare_weights")
    return parser.parse_args(argv)


@optional_part("comparison")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.repertoire import sample_comparison

    repertoires = read_repertoires(args)
    conditions = repertoires.conditions(args.compare_by)
    without_background = {}
    results, groups = _measured(args, repertoires, without_background)
    for name, table_schema in SCHEMAS.items():
        table = pa.concat_tables([table_schema.empty_table(), *(result[name] for result in results)])
        tables.write_both(table, args.outdir / name)
    model = read_model(args.embeddings)
    empty = schema.sample_vectors(model.dimensions).empty_table()
    vectors = pa.concat_tables([empty, *(result["sample_vectors"] for result in results)])
    tables.write(vectors, args.outdir / "sample_vectors.parquet", model.metadata())
    tables.write_both(sample_comparison.public_table(repertoires), args.outdir / "public")
    qc = {
        "samples": list(repertoires.samples.index),
        "condition": args.compare_by,
        "values": conditions.dropna().value_counts().sort_index().to_dict(),
        "of_sample": conditions.dropna().to_dict(),
        "donors": repertoires.samples["donor"].to_dict(),
        "chance": args.cluster_chance,
        "groups": groups,
        "without_background": without_background,
        "compared": args.compare_receptors,
        "permutations": args.compare_permutations,
        "weights": args.compare_weights,
        "units": repertoires.units.to_dict(),
    }
    tables.write_json(qc, args.outdir / "comparison.qc.json")
    script.write_versions(args, "numba", "numpy", "olga", "pyarrow", "scipy")


def _measured(args, repertoires, without_background) -> tuple[list[dict[str, pa.Table]], list[dict]]:
    """Return the tables and the radius of each species and class of chains."""
    from airrvec.repertoire import sample_comparison

    results, groups = [], []
    for group in comparison_groups(args, repertoires, without_background):
        samples = sample_comparison.Samples(
            group,
            args.compare_receptors,
            args.compare_permutations,
            args.seed,
            args.compare_weights,
        )
        results.append(
            {
                "pairs": sample_comparison.pairs_table(samples),
                "samples_pca": sample_comparison.pca_table(samples),
                "sample_vectors": sample_comparison.vectors_table(samples),
            }
        )
        radius = group.neighbourhood.radius
        groups.append({"species": group.species, "chains": group.chains, "radius": radius})
    return results, groups


if __name__ == "__main__":
    main()
