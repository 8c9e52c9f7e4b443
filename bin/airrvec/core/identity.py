"""Identifiers of receptors and clonotypes, equal across runs and machines; numbers of clusters."""

import hashlib
from itertools import pairwise

from airrvec.core import innate, schema

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = 24
_ALLELE = r"\*[^|]*"


def receptor_keys(receptors: pa.Table | dict, lineage: schema.Lineage = schema.ALPHA_BETA) -> pa.Array:
    """
    Return the text that identifies each receptor: species and six fields joined by ``|``, nulls empty.

    That of γδ receptors begins with ``γδ|``: a junction without genes is another receptor than an αβ one.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        ``species`` and the fields of the lineage: of αβ receptors, `airrvec.core.schema.RECEPTOR_FIELDS`.
    """
    # No gene symbol and no sequence contains "|".
    texts = [pc.fill_null(receptors[name], "") for name in ("species", *lineage.receptor_fields)]
    if lineage != schema.ALPHA_BETA:
        texts.insert(0, pa.scalar(lineage.name))
    joined = pc.binary_join_element_wise(*texts, "|")
    return joined.combine_chunks() if isinstance(joined, pa.ChunkedArray) else joined


def digests(keys: pa.Array) -> pa.Array:
    """Return the first 24 hexadecimal digits of each key's SHA-256."""
    n_bytes, sha256 = _DIGITS // 2, hashlib.sha256
    joined = b"".join([sha256(key).digest()[:n_bytes] for key in keys.cast(pa.binary()).to_pylist()])
    offsets = pa.py_buffer(np.arange(0, _DIGITS * len(keys) + 1, _DIGITS, dtype=np.int32))
    return pa.StringArray.from_buffers(len(keys), offsets, pa.py_buffer(joined.hex().encode()))


def clonotype_ids(receptors: pa.Table | dict) -> pa.Array:
    """
    Return clonotype identifiers: `digests` of the receptors' keys without the alleles of all genes.

    Receptors that differ only in alleles share one. If no call has an allele, it equals the receptor_id.
    """
    return digests(_without_alleles(receptor_keys(receptors)))


def _without_alleles(calls: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    return pc.replace_substring_regex(calls, _ALLELE, "")


def with_genes(receptors: pa.Table, lineage: schema.Lineage = schema.ALPHA_BETA) -> pa.Table:
    """Return receptors with the columns of their genes, which are the calls without alleles, at the end."""
    for gene, call in lineage.genes.items():
        receptors = receptors.append_column(gene, _without_alleles(receptors[call]))
    return receptors


def receptors_table(
    fields: pa.Table, pairing: pa.Array, lineage: schema.Lineage = schema.ALPHA_BETA
) -> pa.Table:
    """
    Return a ``receptors`` table, with receptor and clonotype identifiers and innate-like receptors named.

    Parameters
    ----------
    fields : pyarrow.Table
        ``species`` and the fields of the lineage: of αβ receptors, `airrvec.core.schema.RECEPTOR_FIELDS`.
    pairing : pyarrow.Array
        ``chain_pairing``.
    """
    keys = receptor_keys(fields, lineage)
    ids, has_allele = digests(keys), pc.match_substring(keys, "*")
    columns = [
        ids,
        pc.replace_with_mask(ids, has_allele, digests(_without_alleles(keys.filter(has_allele)))),
        *(fields[name] for name in ("species", *lineage.receptor_fields)),
        pairing,
        *([innate.innate_like(fields)] if lineage == schema.ALPHA_BETA else []),
    ]
    return pa.table(columns, schema=lineage.schema(schema.RECEPTORS))


def number_clonotypes(receptors: pa.Table) -> tuple[np.ndarray, pa.Array]:
    """Return each receptor's clonotype number, in order of appearance, and each clonotype's first row."""
    encoded = pc.dictionary_encode(receptors["clonotype_id"].combine_chunks())
    number = encoded.indices.to_numpy()
    return number, pa.array(np.unique(number, return_index=True)[1])


def id_prefixes(ids: pa.Array) -> np.ndarray:
    """Return the first 64 bits of identifiers, ndarray of uint64: enough to count distinct ones."""
    digits = "".join(pc.utf8_slice_codeunits(ids, 0, 16).to_pylist())
    return np.frombuffer(bytes.fromhex(digits), np.uint64)


def split_by_clonotype(receptors: pa.Table, n_partitions: int) -> list[pa.Table]:
    """
    Split receptors into consecutive ranges of clonotype_id.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors``.
    n_partitions : int
        At most 65,536: the first 16 bits of the clonotype_id determine the partition.

    Returns
    -------
    list of pyarrow.Table, length n_partitions
        Rows keep their order within a partition.
    """
    if n_partitions == 1:
        return [receptors]
    leading = pc.utf8_slice_codeunits(receptors["clonotype_id"], 0, 4).to_pylist()
    number = np.array([int(digits, 16) for digits in leading], np.int64) * n_partitions >> 16
    order = np.argsort(number, kind="stable")
    ends = np.searchsorted(number[order], np.arange(n_partitions + 1))
    receptors = receptors.take(pa.array(order))
    return [receptors.slice(start, end - start) for start, end in pairwise(ends.tolist())]


def cluster_numbers(clusters: pd.DataFrame) -> dict[str, str]:
    """
    Return a number for each cluster by its cluster_id, the largest first: its name in report and map.

    Parameters
    ----------
    clusters : DataFrame
        ``cluster_id`` and ``n_receptors``, in the order of `airrvec.core.schema.CLUSTERS`.
    """
    order = clusters.sort_values("n_receptors", ascending=False, kind="stable")["cluster_id"]
    digits = len(str(len(order)))
    return {name: f"{number:0{digits}d}" for number, name in enumerate(order, start=1)}
