#!/usr/bin/env python3
"""Compute the generation probabilities of the labelled receptors of the analyses, with OLGA."""

from airrvec.analyses.options import add_analysis_options, analysis_material
from airrvec.core import schema, script, tables
from airrvec.core.missing import optional_part
from airrvec.evaluation.options import add_labelled_options
from airrvec.synthetic import generation


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_labelled_options(parser)
    add_analysis_options(parser)
    script.add_options(parser, "missing")
    return parser.parse_args(argv)


@optional_part("analysis")
def main(argv=None):
    args = parse_args(argv)
    sample = analysis_material(args).sample
    # Empty for a species without OLGA models; the analysis reports the reason.
    probabilities = (
        generation.receptor_probabilities(sample.receptors, species=args.species)
        if args.species in generation.SPECIES and len(sample.receptors)
        else schema.GENERATION.empty_table()
    )
    tables.write(probabilities, args.outdir / "generation_probability.parquet")
    script.write_versions(args, "numpy", "olga", "pyarrow")


if __name__ == "__main__":
    main()
