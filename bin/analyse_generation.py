#!/usr/bin/env python3
"""Generation probabilities of the labelled receptors that the analyses take, by OLGA."""

from airrvec import cli, generation, schema, tables
from airrvec.report_missing import optional_part


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    cli.add_labelled_options(parser)
    cli.add_analysis_options(parser)
    cli.add_options(parser, "missing")
    return parser.parse_args(argv)


@optional_part("analysis")
def main(argv=None):
    args = parse_args(argv)
    sample = cli.analysis_material(args).sample
    # Empty for a species that OLGA has no models of: the analysis says so.
    found = (
        generation.of_receptors(sample.receptors, species=args.species)
        if args.species in generation.SPECIES and len(sample.receptors)
        else schema.GENERATION.empty_table()
    )
    tables.write(found, args.outdir / "generation_probability.parquet")
    cli.write_versions(args, "numpy", "olga", "pyarrow")


if __name__ == "__main__":
    main()
