"""Vectors of receptors, of which each distinct one is embedded once."""

from collections.abc import Callable

from airrvec.core import arrow_stream, schema
from airrvec.core.chains import CHAIN_LOCI

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
        self._known: dict[str, tuple[pa.Array, np.ndarray]] = {}  # by the chains that are present

    def learn(self, *tables: pa.Table) -> None:
        """Embed the receptors of tables that have the same chains, those that are not known."""
        receptors = pa.concat_tables(table.select(_READ) for table in tables)
        if chains := _chains(receptors):
            keys = _keys(receptors)
            new = pc.unique(keys)
            if chains in self._known:
                new = new.filter(pc.invert(pc.is_in(new, self._known[chains][0])))
            if len(new):
                self._add(chains, new, self._embed(receptors.take(pc.index_in(new, keys))))

    def _add(self, chains: str, keys: pa.Array, vectors: np.ndarray) -> None:
        if chains in self._known:
            old, known = self._known[chains]
            keys, vectors = pa.concat_arrays([old, keys]), np.concatenate([known, vectors])
        self._known[chains] = keys, vectors

    def packed(self) -> dict[str, bytes]:
        """Return all known vectors as bytes, by the class of chains."""
        return {
            chains: arrow_stream.packed(pa.table({"key": keys, "vector": _lists(vectors)})).to_pybytes()
            for chains, (keys, vectors) in self._known.items()
        }

    def unpack(self, packed: dict[str, bytes]) -> None:
        """Know the vectors of `packed`."""
        for chains, content in packed.items():
            table = arrow_stream.unpacked(content).combine_chunks()
            vectors = table["vector"].combine_chunks()
            flat = vectors.flatten().to_numpy(zero_copy_only=False)
            self._add(chains, table["key"].combine_chunks(), flat.reshape(len(table), -1))

    def __call__(self, receptors: pa.Table) -> np.ndarray:
        """Return the vectors of receptors, shape (n, d)."""
        known = self._known.get(_chains(receptors))
        if known is None:
            return self._embed(receptors)
        keys, vectors = known
        place = pc.fill_null(pc.index_in(_keys(receptors), keys), -1).to_numpy()
        result = vectors[place]
        new = np.flatnonzero(place < 0)
        if len(new):
            result[new] = self._embed(receptors.take(pa.array(new)))
        return result


def _lists(vectors: np.ndarray) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])


def _chains(receptors: pa.Table) -> str:
    """Return the class of chains with a junction in any of the receptors; none: an empty text."""
    columns = {locus: receptors[schema.field(locus, "junction_aa")] for locus in schema.LOCI}
    present = tuple(locus for locus, column in columns.items() if column.null_count < len(column))
    return next((chains for chains, loci in CHAIN_LOCI.items() if loci == present), "")


def _keys(receptors: pa.Table) -> pa.Array:
    """Return a text per receptor; receptors with equal texts have equal vectors."""
    columns = [receptors[name].cast(pa.large_string()) for name in _READ]
    joined = pc.binary_join_element_wise(
        *columns, pa.scalar("\t", pa.large_string()), null_handling="replace", null_replacement=""
    )
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined
