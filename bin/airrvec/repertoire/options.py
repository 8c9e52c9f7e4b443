"""Options of the scripts that compare all samples of a run, and the groups that are compared."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from airrvec.core.errors import InputError
from airrvec.core.script import add_options


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


def read_repertoires(args: argparse.Namespace):
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
