"""Unselected background receptors, used to estimate chance similarity."""

from pathlib import Path

import pyarrow as pa

from airrvec.core import schema
from airrvec.core.chains import has_chains, on_chains
from airrvec.core.seeds import generator
from airrvec.synthetic.negatives import unselected

N = 10_000  # receptors


def background(
    path: Path | None, *, species: str, seed: int, leave_out: pa.ChunkedArray, n: int = N
) -> pa.Table:
    """
    Return distinct background receptors of a species, in random order.

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it OLGA generates them.
    n : int
        Largest number of receptors. OLGA generates ``n``, from which the excluded ones are removed.
    leave_out : pyarrow.ChunkedArray
        ``clonotype_id`` of the receptors to exclude.

    Raises
    ------
    InputError
        If there is no table and OLGA has no model of the species, or if the table cannot be read.
    """
    receptors = unselected(path, n, species=species, seed=seed, leave_out=leave_out)
    order = generator(seed, "background").permutation(len(receptors))
    return receptors.take(pa.array(order[:n])).select(schema.RECEPTORS.names)


def of_chains(found: pa.Table, chains: str) -> pa.Table:
    """Return background receptors that have the chains (paired, alpha or beta); other chains are null."""
    return on_chains(found.filter(pa.array(has_chains(found, chains))), chains)
