"""Options of scripts that analyse labelled receptors."""

import argparse

from airrvec.core import settings
from airrvec.core.script import add_options
from airrvec.evaluation.options import labelled_options


def add_analysis_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scripts that analyse labelled receptors, except those of `add_labelled_options`."""
    settings.add(parser, "analysis_receptors", "benchmark_min_positives")
    add_options(parser, "seed", "outdir")


def analysis_material(args: argparse.Namespace):
    """Return the `airrvec.analyses.material.Material` of these options, without an encoder."""
    from airrvec.analyses.material import Material
    from airrvec.evaluation.fewshot import select_labelled

    return Material(
        labelled=select_labelled(**labelled_options(args)),
        n_receptors=args.analysis_receptors,
        min_receptors=args.benchmark_min_positives,
        seed=args.seed,
    )
