"""Vectors of receptors, of which each distinct one is embedded once."""

from collections.abc import Callable

from airrvec.core import schema

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# What a model can read of a receptor.
_READ = (
    "species",
    *(schema.field(locus, name) for locus in schema.LOCI for name in ("v_call", "junction_aa")),
)


class KnownVectors:
    """
    Vectors of receptors that have been seen before, and of others.

    A vector does not depend on the receptors that are embedded with it, so a known one equals a new one.

    Parameters
    ----------
    embed : callable
        Vectors of receptors; shape (n, d).
    """

    def __init__(self, embed: Callable[[pa.Table], np.ndarray]):
        self._embed = embed
        self._known: dict[tuple[str, ...], tuple[pa.Array, np.ndarray]] = {}  # by the chains that are present

    def learn(self, *tables: pa.Table) -> None:
        """Embed the receptors of tables that have the same chains."""
        tables = [table.select(_READ) for table in tables]
        chains = _chains(tables[0])
        receptors = pa.concat_tables(tables)
        keys = _keys(receptors)
        distinct = pc.unique(keys)
        rows = pc.index_in(distinct, keys)
        self._known[chains] = distinct, self._embed(receptors.take(rows))

    def __call__(self, receptors: pa.Table) -> np.ndarray:
        """Return the vectors of receptors, shape (n, d)."""
        known, vectors = self._known.get(_chains(receptors), (None, None))
        if known is None:
            return self._embed(receptors)
        place = pc.fill_null(pc.index_in(_keys(receptors), known), -1).to_numpy()
        found = vectors[place]
        new = np.flatnonzero(place < 0)
        if len(new):
            found[new] = self._embed(receptors.take(pa.array(new)))
        return found


def _chains(receptors: pa.Table) -> tuple[str, ...]:
    """Return the loci with a junction in any of the receptors."""
    columns = {locus: receptors[schema.field(locus, "junction_aa")] for locus in schema.LOCI}
    return tuple(locus for locus, column in columns.items() if column.null_count < len(column))


def _keys(receptors: pa.Table) -> pa.Array:
    """Return a text per receptor, equal for those with equal vectors."""
    columns = [receptors[name].cast(pa.large_string()) for name in _READ]
    joined = pc.binary_join_element_wise(
        *columns, pa.scalar("\t", pa.large_string()), null_handling="replace", null_replacement=""
    )
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
