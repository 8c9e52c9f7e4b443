"""Options of the scripts that analyse labelled receptors."""

import argparse

from airrvec.benchmark.options import labelled_options
from airrvec.core.script import add_options


def add_analysis_options(parser: argparse.ArgumentParser) -> None:
    """Options of the scripts that analyse labelled receptors, beside `add_labelled_options`."""
    parser.add_argument("--analysis-receptors", type=int, default=1000, help="random receptors to take")
    parser.add_argument("--min-receptors", type=int, default=100, help="of an epitope by itself")
    add_options(parser, "seed", "outdir")


def analysis_material(args: argparse.Namespace):
    """The `airrvec.analyses.material.Material` of those options, without an encoder."""
    from airrvec.analyses.material import Material
    from airrvec.benchmark.fewshot import select_labelled

    return Material(
        labelled=select_labelled(**labelled_options(args)),
        n_receptors=args.analysis_receptors,
        min_receptors=args.min_receptors,
        seed=args.seed,
    )
