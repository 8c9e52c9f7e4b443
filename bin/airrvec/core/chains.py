"""
Chain classes of receptors, by the chains with a known junction: paired, alpha, beta.

All code that selects receptors by chain uses these names and functions.
"""

from airrvec.core import schema

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

CHAIN_CLASSES = ("paired", "alpha", "beta")
CHAIN_LOCI = {"paired": schema.LOCI, "alpha": ("TRA",), "beta": ("TRB",)}
CHAIN_TITLES = {"paired": "α and β chains", "alpha": "α chains alone", "beta": "β chains alone"}
GREEK = {"TRA": "α", "TRB": "β"}


def chain_classes(receptors: pa.Table) -> np.ndarray:
    """
    Return the chain class of each receptor, by the chains with a known junction.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors``.

    Returns
    -------
    ndarray of str, shape (n,)
        One of `CHAIN_CLASSES`, or an empty string if no junction is known.
    """
    alpha, beta = (
        pc.is_valid(receptors[schema.field(locus, "junction_aa")]).to_numpy() for locus in schema.LOCI
    )
    return np.select([alpha & beta, alpha, beta], CHAIN_CLASSES, "")


def has_chains(receptors: pa.Table, chains: str) -> np.ndarray:
    """Return whether each receptor has the chains of a class; a paired receptor belongs to every class."""
    classes = chain_classes(receptors)
    return (classes == "paired") | (classes == chains)


def has_equal_junctions(receptors: pa.Table | dict) -> np.ndarray:
    """
    Return whether α and β junction of each receptor are the same; shape (n,).

    Recombination of two loci does not make the same junction twice: one of them was copied by mistake.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        `airrvec.core.schema.RECEPTOR_FIELDS`.
    """
    equal = pc.equal(*(receptors[schema.field(locus, "junction_aa")] for locus in schema.LOCI))
    return np.asarray(pc.fill_null(equal, False))


def with_chains(receptors: pa.Table, chains: str) -> pa.Table:
    """Return the receptors that have the chains of a class, by `has_chains`; other chains are null."""
    return on_chains(receptors.filter(pa.array(has_chains(receptors, chains))), chains)


def on_chains(receptors: pa.Table, chains: str) -> pa.Table:
    """
    Return receptors with V gene, J gene and junction of all other chains set to null.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors``.
    chains : {"paired", "alpha", "beta"}
        The chains to keep.
    """
    for locus in schema.LOCI:
        if locus not in CHAIN_LOCI[chains]:
            for name in schema.CHAIN_FIELDS:
                index = receptors.column_names.index(schema.field(locus, name))
                receptors = receptors.set_column(
                    index, receptors.field(index), pa.nulls(len(receptors), pa.string())
                )
    return receptors
