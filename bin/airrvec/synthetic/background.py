"""Receptors that nobody has selected, to say what is near by chance."""

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
    Distinct receptors of a species, in random order.

    Parameters
    ----------
    path : Path, optional
        ``receptors``, a file or a folder of partitions; without it they are OLGA's.
    n : int
        At most; OLGA gives as many as asked for, less those left out.
    leave_out : pyarrow.ChunkedArray
        ``clonotype_id`` of those that are no background.

    Raises
    ------
    InputError
        If there is no table, and OLGA's receptors are of another species.
    """
    found = unselected(path, n, species=species, seed=seed, leave_out=leave_out)
    order = generator(seed, "background").permutation(len(found))
    return found.take(pa.array(order[:n])).select(schema.RECEPTORS.names)


def of_chains(found: pa.Table, chains: str) -> pa.Table:
    """Those of the background that have some chains (paired, alpha or beta), shown by these alone."""
    return on_chains(found.filter(pa.array(has_chains(found, chains))), chains)
