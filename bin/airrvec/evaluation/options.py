"""Command-line options of the scripts that take labelled receptors."""

import argparse
from pathlib import Path

from airrvec.core import settings, tables
from airrvec.core.terminal import print_warning

import pyarrow as pa


def add_labelled_options(parser: argparse.ArgumentParser, *, several_species: bool = False) -> None:
    """Add the options of the scripts that take labelled receptors."""
    parser.add_argument("--cells", type=Path, required=True, help="labelled cells")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of these cells")
    several = {"nargs": "+", "default": ["homosapiens"]} if several_species else {}
    settings.add(parser, "species", **several)
    settings.add(parser, "exclude_references", default="none")


def labelled_options(args: argparse.Namespace) -> dict:
    """
    Return these options as arguments of `airrvec.evaluation.fewshot.select_labelled`.

    Studies that are the same by their content have one name.
    """
    options, _ = united_options(args)
    return options


def united_options(args: argparse.Namespace) -> tuple[dict, pa.Table]:
    """Return `labelled_options`, and `airrvec.core.schema.SAME_STUDIES`."""
    from airrvec.evaluation import study_identity

    cells, receptors = tables.read(args.cells), tables.read(args.receptors)
    excluded = None if args.exclude_references == "none" else args.exclude_references
    same = study_identity.same_studies(cells, receptors, excluded)
    if words := study_identity.sentence(same.to_pylist()):
        print_warning(words)
    options = {"receptors": receptors, "species": args.species, "exclude_references": excluded}
    return {"cells": study_identity.unite(cells, same), **options}, same
