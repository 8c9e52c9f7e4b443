"""Options of scripts that compare all samples of a run, and the groups of clonotypes to compare."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from airrvec.core import settings, tables
from airrvec.core.chains import with_chains
from airrvec.core.errors import InputError
from airrvec.core.script import add_options
from airrvec.core.vectors import VectorModel, check_same_model, read_model

import numpy as np

if TYPE_CHECKING:  # they take seconds to import
    from airrvec.repertoire.clustering import Neighbourhood
    from airrvec.repertoire.repertoires import Repertoires

ABOUT = "about.json"  # beside the files of the groups


def add_repertoire_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of scripts that analyse all samples of a run together."""
    parser.add_argument("--clones", type=Path, required=True, help="folder written by count_clones.py")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the run, file or folder")
    parser.add_argument("--embeddings", type=Path, required=True, help="vectors of receptors, file or folder")
    settings.add(parser, "model", help="model of the vectors; embeds the background")
    settings.add(parser, "cluster_chance")
    parser.add_argument(
        "--groups", type=Path, help="folder written by embed_background.py; if not given, made here"
    )
    add_options(parser, "background", "seed", "threads", "outdir", "missing")


def read_repertoires(args: argparse.Namespace):
    """
    Read the `airrvec.repertoire.repertoires.Repertoires` that the options name.

    Raises
    ------
    InputError
        If the background has vectors of another model; see also `airrvec.repertoire.repertoires.read`.
    """
    from airrvec.repertoire.repertoires import read

    check_same_model(
        "its vectors",
        read_model(args.embeddings),
        "those of the background",
        _background_model(args),
        file=args.embeddings,
        fix=None if args.groups else "Give the model of the vectors with --model",
    )
    return read(args.clones, args.receptors, args.embeddings)


def _background_model(args: argparse.Namespace) -> VectorModel:
    """Return the model of the vectors of background receptors, made before or to be made."""
    if not args.groups:
        from airrvec.model import weights

        return weights.load(args.model).vector_model
    model = VectorModel.read(_about(args).get("vectors"))
    if model is None:
        problem = "the vectors of the background do not name their model"
        raise InputError(problem, file=args.groups, fix="Make them again with embed_background.py")
    return model


def _about(args: argparse.Namespace) -> dict:
    """Return what `write_groups` wrote beside the groups."""
    return json.loads((args.groups / ABOUT).read_text("utf-8"))


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
    rows : ndarray of int64, shape (n,)
        Rows of the clonotypes among those of ``repertoires``.
    neighbourhood : Neighbourhood
        Neighbours of these clonotypes among them, and by chance.
    n_background : int
        Background receptors of the species that have a vector.
    """

    species: str
    chains: str
    repertoires: "Repertoires"
    rows: np.ndarray
    neighbourhood: "Neighbourhood"
    n_background: int

    @cached_property
    def vectors(self) -> np.ndarray:
        """Vectors of these clonotypes, ndarray of float32, shape (n, d)."""
        return self.repertoires.vectors(self.rows)


def comparison_groups(
    args: argparse.Namespace, repertoires, without_background: dict[str, str]
) -> Iterator[Group]:
    """
    Yield the groups of a run.

    Parameters
    ----------
    args : argparse.Namespace
        Options of `add_repertoire_options`.
    repertoires : Repertoires
    without_background : dict
        Receives, if there are several species, the reason for each one excluded for lack of a background.

    Raises
    ------
    InputError
        If the only species has no background.
    """
    groups = read_groups if args.groups else make_groups
    for species in repertoires.species:
        part = repertoires.select_species(species)
        try:
            yield from groups(args, part, species)
        except InputError as problem:
            if len(repertoires.species) == 1:
                raise
            without_background[species] = str(problem)


def background_name(args: argparse.Namespace) -> str:
    """Return the name of the background for the report."""
    if args.groups:
        return _about(args)["background"]
    return args.background.name if args.background else "OLGA"


def make_groups(args, part, species: str) -> Iterator[Group]:
    """Yield the group of each class of chains of a species, with a new background."""
    from airrvec.encoders.sceptr import Sceptr
    from airrvec.synthetic.background import background

    present = present_chains(part)
    if not present:
        return
    leave_out = part.receptors["clonotype_id"]
    receptors = background(args.background, species=species, seed=args.seed, leave_out=leave_out)
    encoder = Sceptr(args.model, threads=args.threads)
    for chains in present:
        background_vectors = encoder.embed(with_chains(receptors, chains))
        background_vectors = background_vectors[np.isfinite(background_vectors).all(axis=1)]
        rows = part.rows(chains)
        neighbourhood = _neighbourhood(args, part.vectors(rows), background_vectors)
        yield Group(species, chains, part, rows, neighbourhood, len(background_vectors))


def _neighbourhood(args, vectors: np.ndarray, background: np.ndarray) -> "Neighbourhood":
    """Return the neighbours of receptors within the radius of chance."""
    from airrvec.repertoire import clustering

    radius = clustering.radius_by_chance(vectors, background, args.cluster_chance, threads=args.threads)
    return clustering.neighbourhood(vectors, background, radius, threads=args.threads)


def present_chains(part) -> list[str]:
    """Return the classes of chains that the clonotypes of a species have."""
    return [chains for chains in part.present if len(part.rows(chains))]


def write_groups(args: argparse.Namespace, repertoires, folder: Path) -> None:
    """Write the neighbours of the groups of each species, or why there are none."""
    folder.mkdir(parents=True, exist_ok=True)
    reasons = {}
    for species in repertoires.species:
        part = repertoires.select_species(species)
        try:
            for group in make_groups(args, part, species):
                with (
                    tables.atomic_path(folder / f"{species}_{group.chains}.npz") as path,
                    path.open("wb") as handle,
                ):
                    np.savez(handle, n_background=group.n_background, **group.neighbourhood.arrays())  # type: ignore[arg-type]  # none is called allow_pickle
        except InputError as problem:
            reasons[species] = str(problem)
    about = {"background": background_name(args), "without": reasons}
    tables.write_json({**about, "vectors": _background_model(args).described()}, folder / ABOUT)


def read_groups(args, part, species: str) -> Iterator[Group]:
    """Yield the groups of a species with the neighbours that `write_groups` wrote."""
    from airrvec.repertoire.clustering import Neighbourhood

    reasons = _about(args)["without"]
    if species in reasons:
        raise InputError(reasons[species].removesuffix("."))
    for chains in present_chains(part):
        with np.load(args.groups / f"{species}_{chains}.npz", allow_pickle=False) as group:
            neighbourhood, n_background = Neighbourhood.read(group), int(group["n_background"])
        yield Group(species, chains, part, part.rows(chains), neighbourhood, n_background)
