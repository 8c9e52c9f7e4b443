"""Options of scripts that compare all samples of a run, and the groups of clonotypes to compare."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airrvec.core import tables
from airrvec.core.chains import with_chains
from airrvec.core.errors import InputError
from airrvec.core.script import add_options

ABOUT = "about.json"  # beside the files of the groups


def add_repertoire_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scripts that analyse all samples of a run together."""
    parser.add_argument("--cells", type=Path, nargs="*", default=[], help="cells tables, one per sample")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the run, file or folder")
    parser.add_argument("--embeddings", type=Path, required=True, help="vectors of receptors, file or folder")
    parser.add_argument("--model", default="sceptr", help="model of the vectors; embeds the background")
    parser.add_argument("--chance", type=float, default=0.01, help="mean neighbours by chance in the radius")
    parser.add_argument("--compare-by", help="metadata column whose values are compared")
    parser.add_argument(
        "--abundance",
        choices=("cells", "duplicate_count"),
        default="cells",
        help="abundance of a receptor: its number of cells, or their duplicate_count",
    )
    parser.add_argument(
        "--groups", type=Path, help="folder written by embed_background.py; if not given, made here"
    )
    add_options(parser, "background", "seed", "cpus", "outdir", "missing")


def read_repertoires(args: argparse.Namespace):
    """Read the `airrvec.repertoire.repertoires.Repertoires` that the options name."""
    from airrvec.repertoire.repertoires import read

    return read(args.cells, args.receptors, args.embeddings, abundance=args.abundance)


@dataclass(frozen=True)
class Group:
    """
    Group of clonotypes that are compared: one species and one chain class.

    Attributes
    ----------
    species : str
    chains : {"paired", "alpha", "beta"}
    repertoires : Repertoires
        Repertoires of the species.
    vectors, background : ndarray of float32, shape (n, d) and (m, d)
        Vectors of the clonotypes, and of background receptors of the species.
    radius : float
        Distance within which receptors are neighbours.
    """

    species: str
    chains: str
    repertoires: "Repertoires"  # noqa: F821 - the module takes seconds to import
    vectors: np.ndarray
    background: np.ndarray
    radius: float


def comparison_groups(args: argparse.Namespace, found, without_background: dict[str, str]) -> Iterator[Group]:
    """
    Yield the groups of a run.

    Parameters
    ----------
    args : argparse.Namespace
        Options of `add_repertoire_options`.
    found : Repertoires
    without_background : dict
        Receives, if there are several species, the reason for each one excluded for lack of a background.

    Raises
    ------
    InputError
        If the only species has no background.
    """
    groups = read_groups if args.groups else make_groups
    for species in found.species:
        part = found.of_species(species)
        try:
            for chains, background, radius in groups(args, found, part, species):
                yield Group(species, chains, part, part.vectors[part.rows(chains)], background, radius)
        except InputError as problem:
            if len(found.species) == 1:
                raise
            without_background[species] = str(problem)


def background_name(args: argparse.Namespace) -> str:
    """Return the name of the background for the report."""
    if args.groups:
        return json.loads((args.groups / ABOUT).read_text())["background"]
    return args.background.name if args.background else "OLGA"


def make_groups(args, found, part, species: str) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield each class of chains of a species, the vectors of its background, and its radius."""
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.repertoire.clustering import radius_by_chance
    from airrvec.synthetic.background import background

    present = present_chains(part)
    if not present:
        return
    leave_out = found.receptors["clonotype_id"]
    receptors = background(args.background, species=species, seed=args.seed, leave_out=leave_out)
    encoder = Sceptr(args.model)
    for chains in present:
        vectors = encoder.embed(with_chains(receptors, chains))
        vectors = vectors[np.isfinite(vectors).all(axis=1)]
        of_group = part.vectors[part.rows(chains)]
        yield chains, vectors, radius_by_chance(of_group, vectors, args.chance, threads=args.cpus)


def present_chains(part) -> list[str]:
    """Return the classes of chains that the clonotypes of a species have."""
    return [chains for chains in part.present if len(part.rows(chains))]


def write_groups(args: argparse.Namespace, found, folder: Path) -> None:
    """Write what `make_groups` yields for each species, or why there is none, for `read_groups`."""
    folder.mkdir(parents=True, exist_ok=True)
    reasons = {}
    for species in found.species:
        part = found.of_species(species)
        try:
            for chains, vectors, radius in make_groups(args, found, part, species):
                with (
                    tables.atomic_path(folder / f"{species}_{chains}.npz") as path,
                    path.open("wb") as handle,
                ):
                    np.savez(handle, vectors=vectors, radius=radius)
        except InputError as problem:
            reasons[species] = str(problem)
    tables.write_json({"background": background_name(args), "without": reasons}, folder / ABOUT)


def read_groups(args, found, part, species: str) -> Iterator[tuple[str, np.ndarray, float]]:
    """Yield what `write_groups` wrote of a species, as `make_groups` does."""
    reasons = json.loads((args.groups / ABOUT).read_text())["without"]
    if species in reasons:
        raise InputError(reasons[species])
    for chains in present_chains(part):
        with np.load(args.groups / f"{species}_{chains}.npz", allow_pickle=False) as group:
            yield chains, group["vectors"], float(group["radius"])
