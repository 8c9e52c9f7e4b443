"""Command-line options of the scripts that take labelled receptors."""

import argparse
from pathlib import Path

from airrvec.core import settings, tables


def add_labelled_options(parser: argparse.ArgumentParser, *, several_species: bool = False) -> None:
    """Add the options of the scripts that take labelled receptors."""
    parser.add_argument("--cells", type=Path, required=True, help="labelled cells")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of these cells")
    several = {"nargs": "+", "default": ["homosapiens"]} if several_species else {}
    settings.add(parser, "species", **several)
    settings.add(parser, "exclude_references", default="none")


def labelled_options(args: argparse.Namespace) -> dict:
    """Return these options as arguments of `airrvec.evaluation.fewshot.select_labelled`."""
    return {
        "cells": tables.read(args.cells),
        "receptors": tables.read(args.receptors),
        "species": args.species,
        "exclude_references": None if args.exclude_references == "none" else args.exclude_references,
    }
