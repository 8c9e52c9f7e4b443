"""What the scripts of ``bin/`` have in common."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from airrvec.core import schema, tables
from airrvec.core.errors import InputError
from airrvec.core.version import __version__

GB = 1 << 30


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the options that every process of the pipeline passes."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"airrvec {__version__}")
    parser.add_argument("--process", default="airrvec", help="name that heads --versions")
    parser.add_argument(
        "--versions", type=Path, help="YAML file for the versions of what was used", metavar="YAML"
    )
    return parser


_OPTIONS = {
    "seed": {"type": int, "default": 420},
    "cpus": {"type": int, "default": 1, "help": "threads"},
    "outdir": {"type": Path, "default": Path(".")},
    "missing": {
        "type": Path,
        "help": "<name>.missing.json: write here why nothing could be made, and end with status 0",
    },
}


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Options that many scripts have: ``seed``, ``cpus``, ``outdir``, ``missing``."""
    for name in names:
        parser.add_argument(f"--{name}", **_OPTIONS[name])


def add_labelled_options(parser: argparse.ArgumentParser, *, several_species: bool = False) -> None:
    """Options of the scripts that take labelled receptors."""
    parser.add_argument("--cells", type=Path, required=True, help="labelled cells")
    parser.add_argument("--receptors", type=Path, required=True, help="their receptors")
    several = {"nargs": "+", "default": ["homosapiens"]} if several_species else {"default": "homosapiens"}
    parser.add_argument("--species", choices=list(schema.SPECIES), **several)
    parser.add_argument(
        "--exclude-references",
        default="none",
        help="leave out cells whose reference_id contains this text; none keeps all",
    )


def labelled_options(args: argparse.Namespace) -> dict:
    """Those options as `airrvec.benchmark.fewshot.select_labelled` takes them."""
    return {
        "cells": tables.read(args.cells),
        "receptors": tables.read(args.receptors),
        "species": args.species,
        "exclude_references": None if args.exclude_references == "none" else args.exclude_references,
    }


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


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Options of the scripts that train."""
    parser.add_argument("--preset", type=Path, required=True, help="JSON file of conf/models")
    parser.add_argument("--steps", type=int, help="at most; else the preset's")
    parser.add_argument("--batch-size", type=int, help="else the preset's")
    parser.add_argument(
        "--checkpoints", type=Path, default=Path("checkpoints"), help="folder; a run resumes from it"
    )
    parser.add_argument("--checkpoint-every", type=int, default=200, help="steps")
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto")
    parser.add_argument("--devices", type=int, default=1, help="devices of a node")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--precision", choices=("float32", "bf16"), default="float32")
    add_options(parser, "seed", "cpus", "outdir")


def training_options(args: argparse.Namespace) -> dict:
    """Those options as `airrvec.training.trainer.train` takes them."""
    names = ("checkpoint_every", "device", "devices", "nodes", "precision")
    return {name: getattr(args, name) for name in names}


def add_repertoire_options(parser: argparse.ArgumentParser) -> None:
    """Options of the scripts that look at all samples of a run together."""
    parser.add_argument("--cells", type=Path, nargs="*", default=[], help="cells of each sample")
    parser.add_argument("--receptors", type=Path, required=True, help="of the run, file or folder")
    parser.add_argument("--embeddings", type=Path, required=True, help="their vectors, file or folder")
    parser.add_argument("--model", default="sceptr", help="the model that made them, to embed the background")
    parser.add_argument("--background", type=Path, help="receptors of another run; else OLGA's")
    parser.add_argument("--chance", type=float, default=0.01, help="neighbours by chance within the radius")
    parser.add_argument("--condition", help="metadata column whose values are compared")
    parser.add_argument("--abundance", choices=("cells", "duplicate_count"), default="cells")
    add_options(parser, "seed", "cpus", "outdir")


def repertoires(args: argparse.Namespace):
    """The `airrvec.repertoire.repertoires.Repertoires` of those options."""
    from airrvec.repertoire.repertoires import read

    return read(args.cells, args.receptors, args.embeddings, abundance=args.abundance)


@dataclass(frozen=True)
class Group:
    """
    What is compared: the clonotypes of a species that have some chains.

    Attributes
    ----------
    species : str
    chains : {"paired", "alpha", "beta"}
    repertoires : Repertoires
        Those of the species.
    vectors, background : ndarray of float32, shape (n, d) and (m, d)
        Of the clonotypes, and of background receptors of the species.
    radius : float
        Within which receptors are neighbours.
    """

    species: str
    chains: str
    repertoires: "Repertoires"  # noqa: F821 - its module takes seconds to import
    vectors: np.ndarray
    background: np.ndarray
    radius: float


def by_chance(args: argparse.Namespace, found, without_background: dict[str, str]) -> Iterator[Group]:
    """
    The groups of a run.

    Parameters
    ----------
    found : Repertoires
    without_background : dict
        Gets the reason for each species that has no background and is left out, where there are several.

    Raises
    ------
    InputError
        If the only species has no background.
    """
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.repertoire.clustering import radius_by_chance
    from airrvec.synthetic.background import background, of_chains

    encoder = None
    for species in found.species:
        part = found.of_species(species)
        present = [chains for chains in part.present if len(part.rows(chains))]
        if not present:
            continue
        encoder = encoder or Sceptr(args.model)
        leave_out = found.receptors["clonotype_id"]
        try:
            others = background(args.background, species=species, seed=args.seed, leave_out=leave_out)
            for chains in present:
                vectors = part.vectors[part.rows(chains)]
                of_others = encoder.embed(of_chains(others, chains))
                of_others = of_others[np.isfinite(of_others).all(axis=1)]
                radius = radius_by_chance(vectors, of_others, args.chance, threads=args.cpus)
                yield Group(species, chains, part, vectors, of_others, radius)
        except InputError as problem:
            if len(found.species) == 1:
                raise
            without_background[species] = str(problem)


def write_versions(args: argparse.Namespace, *packages: str) -> None:
    """Write the versions of Python, airrvec and some packages, where ``--versions`` asks for them."""
    if args.versions is None:
        return
    found = {"python": ".".join(map(str, sys.version_info[:3])), "airrvec": __version__}
    found.update({package: version(package) for package in packages})
    lines = [f'"{args.process}":', *(f'    {name}: "{value}"' for name, value in found.items())]
    tables.write_text("\n".join(lines) + "\n", args.versions)
