#!/usr/bin/env python3
"""Measure one analysis with one encoder or none; if that is impossible, write the reason."""

from dataclasses import replace
from pathlib import Path

from airrvec import analyses
from airrvec.analyses.options import add_analysis_options, analysis_material
from airrvec.benchmark.options import add_labelled_options
from airrvec.core import runtime, script, tables
from airrvec.core.missing import optional_part
from airrvec.core.plural import counted


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_labelled_options(parser)
    add_analysis_options(parser)
    parser.add_argument("--analysis", choices=analyses.ANALYSES, required=True, help="name of the analysis")
    parser.add_argument("--encoder", help="encoder: a name, a model folder or a Python file")
    parser.add_argument("--name", help="name of the encoder in tables and files; if not given, --encoder")
    parser.add_argument("--hub-cache", type=Path, help="folder with the weights of language models")
    parser.add_argument("--generation", type=Path, help="table written by analyse_generation.py")
    parser.add_argument(
        "--split",
        choices=("study", "random", "given"),
        default="study",
        help="how receptors are held out, in the analysis fine_tuning",
    )
    parser.add_argument(
        "--per-epitope", type=int, default=200, help="training receptors per epitope, with --split study"
    )
    parser.add_argument(
        "--min-trained", type=int, default=300, help="minimum number of receptors of a trained epitope"
    )
    script.add_options(parser, "cpus", "missing")
    return parser.parse_args(argv)


@optional_part("analysis")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.cpus)
    from airrvec import encoders

    name = args.name or args.encoder or ""
    analysis = analyses.load(args.analysis)
    metadata = {"analysis": args.analysis, "encoder": name, "title": encoders.Titles()[name]}
    try:
        material, encoder = analysis_material(args), None
        if args.encoder:
            encoder, metadata["title"] = encoders.load_titled(args.encoder, name, hub_cache=args.hub_cache)
        material = replace(
            material,
            name=name,
            encoder=encoder,
            generation=tables.read(args.generation) if args.generation else None,
            splitting={
                "method": args.split,
                "per_epitope": args.per_epitope,
                "min_receptors": args.min_trained,
            },
        )
        if len(material.sample.receptors) < analyses.MIN_RECEPTORS:
            raise analyses.AnalysisSkipped(
                f"the labelled table holds {counted(len(material.sample.receptors), 'complete receptor')},"
                f" and {analyses.MIN_RECEPTORS} are needed"
            )
        measured = analysis.measure(material)
    except (analyses.AnalysisSkipped, encoders.NotMeasurable) as problem:
        metadata["reason"] = str(problem)
        measured = getattr(analysis, "MEASURED", analysis.SCHEMA).empty_table()
    tables.write(measured, args.outdir / f"{args.analysis}.{name or 'none'}.measured.parquet", metadata)
    script.write_versions(args, "numba", "numpy", "pyarrow", "scipy")


if __name__ == "__main__":
    main()
