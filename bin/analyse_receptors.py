#!/usr/bin/env python3
"""Measure one analysis with one encoder or none; if that is impossible, write the reason."""

from dataclasses import replace
from pathlib import Path

from airrvec import analyses
from airrvec.analyses.options import add_analysis_options, analysis_material
from airrvec.core import runtime, script, settings, tables
from airrvec.core.missing import optional_part
from airrvec.core.terminal import counted
from airrvec.evaluation.options import add_labelled_options


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_labelled_options(parser)
    add_analysis_options(parser)
    parser.add_argument("--analysis", choices=analyses.ANALYSES, required=True, help="name of the analysis")
    parser.add_argument("--encoder", help="encoder: a name, a model folder or a Python file")
    parser.add_argument("--name", help="name of the encoder in tables and files; if not given, --encoder")
    settings.add(parser, "hub_cache", type=Path)
    parser.add_argument("--generation", type=Path, help="table written by analyse_generation.py")
    settings.add(parser, "finetune_split", "finetune_per_epitope", "finetune_min_receptors")
    script.add_options(parser, "threads", "missing")
    return parser.parse_args(argv)


@optional_part("analysis")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
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
                "method": args.finetune_split,
                "per_epitope": args.finetune_per_epitope,
                "min_receptors": args.finetune_min_receptors,
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
