"""Options of scripts that compare all samples of a run, and the groups of clonotypes to compare."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airrvec.core.chains import with_chains
from airrvec.core.errors import InputError
from airrvec.core.script import add_options


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
    add_options(parser, "background", "seed", "cpus", "outdir")


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
    found : Repertoires
    without_background : dict
        Receives, if there are several species, the reason for each one excluded for lack of a background.

    Raises
    ------
    InputError
        If the only species has no background.
    """
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.repertoire.clustering import radius_by_chance
    from airrvec.synthetic.background import background

    encoder = None
    for species in found.species:
        part = found.of_species(species)
        present = [chains for chains in part.present if len(part.rows(chains))]
        if not present:
            continue
        encoder = encoder or Sceptr(args.model)
        leave_out = found.receptors["clonotype_id"]
        try:
            receptors = background(args.background, species=species, seed=args.seed, leave_out=leave_out)
            for chains in present:
                vectors = part.vectors[part.rows(chains)]
                negatives = encoder.embed(with_chains(receptors, chains))
                negatives = negatives[np.isfinite(negatives).all(axis=1)]
                radius = radius_by_chance(vectors, negatives, args.chance, threads=args.cpus)
                yield Group(species, chains, part, vectors, negatives, radius)
        except InputError as problem:
            if len(found.species) == 1:
                raise
            without_background[species] = str(problem)
