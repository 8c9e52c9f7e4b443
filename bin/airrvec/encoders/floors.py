"""Trivial encoders: lower bounds for the performance of any other encoder."""

import hashlib

from airrvec.core import schema
from airrvec.core.seeds import numbered_generator
from airrvec.encoders import present_loci

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DIMENSIONS = 64


class Random:
    """A random direction for each receptor; equal ``receptor_id`` give equal directions."""

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """Return unit vectors, float32, shape (n_receptors, 64); ``receptor_id`` is the only seed."""
        keys = [hashlib.sha256(key.encode()).digest() for key in receptors["receptor_id"].to_pylist()]
        seeds = np.frombuffer(b"".join(keys), np.uint32).reshape(len(keys), -1)
        vectors = np.array([numbered_generator(seed).standard_normal(DIMENSIONS) for seed in seeds])
        vectors = vectors.reshape(len(keys), DIMENSIONS)
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


class Length:
    """Lengths of the junctions."""

    def embed(self, receptors: pa.Table) -> np.ndarray:
        """
        Return the junction length of each chain in residues, float32, shape (n_receptors, n_chains).

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
        Return the number of V and J genes that differ, uint8, shape (n_queries, n_references).

        Raises
        ------
        NotMeasurable
            If some receptors lack a gene that others have.
        """
        total = np.zeros((len(queries), len(references)), np.uint8)
        for locus in present_loci("V and J genes", ("v_call", "j_call"), queries, references):
            for name in ("v_call", "j_call"):
                genes = [_genes(table[schema.field(locus, name)]) for table in (queries, references)]
                codes = pa.concat_arrays(genes).dictionary_encode().indices.to_numpy()
                total += codes[: len(queries), None] != codes[None, len(queries) :]
        return total


def _genes(calls: pa.ChunkedArray) -> pa.Array:
    return pc.replace_substring_regex(calls, r"\*.*", "").combine_chunks()
