#!/usr/bin/env python3
"""Generation probabilities of the labelled receptors that the analyses take, by OLGA."""

from airrvec.app import script_options
from airrvec.core import schema, tables
from airrvec.core.missing import optional_part
from airrvec.synthetic import generation


def parse_args(argv=None):
    parser = script_options.parser(__doc__)
    script_options.add_labelled_options(parser)
    script_options.add_analysis_options(parser)
    script_options.add_options(parser, "missing")
    return parser.parse_args(argv)


@optional_part("analysis")
def main(argv=None):
    args = parse_args(argv)
    sample = script_options.analysis_material(args).sample
    # Empty for a species that OLGA has no models of: the analysis says so.
    found = (
        generation.of_receptors(sample.receptors, species=args.species)
        if args.species in generation.SPECIES and len(sample.receptors)
        else schema.GENERATION.empty_table()
    )
    tables.write(found, args.outdir / "generation_probability.parquet")
    script_options.write_versions(args, "numpy", "olga", "pyarrow")


if __name__ == "__main__":
    main()
