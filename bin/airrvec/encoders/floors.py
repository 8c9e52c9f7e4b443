"""Encoders that know next to nothing: what any other has to be better than."""

import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.encoders import present_loci

DIMENSIONS = 64


class Random:
    """A random direction for each receptor, the same wherever its ``receptor_id`` is the same."""

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """Unit vectors, float32, shape (n_receptors, 64), seeded by ``receptor_id`` alone."""
        keys = [hashlib.sha256(key.encode()).digest() for key in receptors["receptor_id"].to_pylist()]
        seeds = np.frombuffer(b"".join(keys), np.uint32).reshape(len(keys), -1)
        vectors = np.array([np.random.default_rng(seed).standard_normal(DIMENSIONS) for seed in seeds])
        vectors = vectors.reshape(len(keys), DIMENSIONS)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class Length:
    """Lengths of the junctions."""

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """
        Residues of the junction of each chain, float32, shape (n_receptors, n_chains).

        Raises
        ------
        NotMeasurable
            If some receptors lack a chain that others have.
        """
        loci = present_loci("Length", ("junction_aa",), receptors)
        lengths = [pc.utf8_length(receptors[schema.field(locus, "junction_aa")]) for locus in loci]
        return np.stack([column.to_numpy() for column in lengths], axis=1).astype(np.float32)


class VJGenes:
    """V and J genes, without their alleles."""

    def distances(self, queries: pa.Table, references: pa.Table) -> np.ndarray:
        """
        How many of the V and J genes of the chains differ, uint8, shape (n_queries, n_references).

        Raises
        ------
        NotMeasurable
            If some receptors lack a gene that others have.
        """
        total = np.zeros((len(queries), len(references)), np.uint8)
        for locus in present_loci("V and J genes", ("v_call", "j_call"), queries, references):
            for name in ("v_call", "j_call"):
                ours, theirs = (_genes(table[schema.field(locus, name)]) for table in (queries, references))
                both = pa.concat_arrays([ours, theirs]).dictionary_encode().indices.to_numpy()
                total += both[: len(ours), None] != both[None, len(ours) :]
        return total


def _genes(calls: pa.ChunkedArray) -> pa.Array:
    return pc.replace_substring_regex(calls, r"\*.*", "").combine_chunks()
