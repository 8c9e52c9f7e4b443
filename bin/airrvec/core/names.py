"""Names of receptors for readers: V gene, CDR3 and J gene of both chains."""

from collections.abc import Sequence

from airrvec.core import schema
from airrvec.core.chains import GREEK

import pyarrow as pa
import pyarrow.compute as pc

BETWEEN_CHAINS = " · "
UNKNOWN = "?"  # gene or CDR3 of a chain that is otherwise known
NO_CHAIN = "no {chain}"  # a chain that the input does not hold
NOT_COMPARED = "{chain} not compared"  # a chain that the reference set of a chain class ignores
_PARTS = ("v_call", "junction_aa", "j_call")  # in the order of the protein
_ALLELE = r"\*.*$"


def chain_names(receptors: pa.Table | dict, locus: str, prefix: str = "") -> pa.ChunkedArray:
    """
    Return the name of one chain of each receptor, e.g. ``TRAV1-2 CAVMDSNYQLIW TRAJ33``.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        `airrvec.core.schema.RECEPTOR_FIELDS`, n rows.
    locus : {"TRA", "TRB"}
    prefix : str
        Text before the names of these columns.

    Returns
    -------
    pyarrow.ChunkedArray of string, length n
        Without alleles; ``?`` for an unknown part; null where no part is known.
    """
    parts = [_strings(receptors[prefix + schema.field(locus, name)]) for name in _PARTS]
    parts = [
        pc.replace_substring_regex(part, _ALLELE, "") if name.endswith("call") else part
        for name, part in zip(_PARTS, parts, strict=True)
    ]
    known = pc.or_(pc.or_(*(pc.is_valid(part) for part in parts[:2])), pc.is_valid(parts[2]))
    joined = pc.binary_join_element_wise(*(pc.fill_null(part, UNKNOWN) for part in parts), " ")
    return _chunked(pc.if_else(known, joined, pa.scalar(None, pa.string())))


def receptor_names(
    receptors: pa.Table | dict, *, loci: Sequence[str] = schema.LOCI, absent: str = NO_CHAIN
) -> pa.ChunkedArray:
    """
    Return the name of each receptor, e.g. ``TRAV1-2 CAVMDSNYQLIW TRAJ33 · TRBV6-4 CASSDSGGYEQYF TRBJ2-7``.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        `airrvec.core.schema.RECEPTOR_FIELDS`, n rows.
    loci : sequence of str
        Chains that are compared; the others are written as `NOT_COMPARED`.
    absent : str
        Text for a chain without any field.

    Returns
    -------
    pyarrow.ChunkedArray of string, length n
        Null where neither chain is known.
    """
    words = [absent if locus in loci else NOT_COMPARED for locus in schema.LOCI]
    chains = [chain_names(receptors, locus) for locus in schema.LOCI]
    known = pc.or_(*(pc.is_valid(chain) for chain in chains))
    shown = [
        pc.fill_null(chain, word.format(chain=GREEK[locus]))
        for chain, word, locus in zip(chains, words, schema.LOCI, strict=True)
    ]
    joined = pc.binary_join_element_wise(*shown, BETWEEN_CHAINS)
    return pc.if_else(known, joined, pa.scalar(None, pa.string()))


def with_fields(table: pa.Table, receptors: pa.Table, key: str = "receptor_id") -> pa.Table:
    """
    Return a table with the six fields of the receptor that each row names, and its kind if innate-like.

    Parameters
    ----------
    table : pyarrow.Table
        Has the column ``key``.
    receptors : pyarrow.Table
        ``receptor_id``, `airrvec.core.schema.RECEPTOR_FIELDS`; ``innate_like`` if it is to be joined; each
        receptor once.
    key : str
        Column with the receptor_id.

    Returns
    -------
    pyarrow.Table
        Null fields where the receptor is unknown. Fields that the table already has are replaced.
    """
    known = receptors["receptor_id"].combine_chunks()
    rows = pc.index_in(_strings(table[key]), known)
    fields = [name for name in (*schema.RECEPTOR_FIELDS, "innate_like") if name in receptors.column_names]
    table = table.drop_columns([name for name in fields if name in table.column_names])
    for name in fields:
        table = table.append_column(name, receptors[name].combine_chunks().take(rows))
    return table


def _strings(values) -> pa.ChunkedArray:
    """Return a column of an Arrow table, a pandas frame or a list as strings."""
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        values = pa.array(values, pa.string(), from_pandas=True)
    return _chunked(values).cast(pa.string())


def _chunked(values: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])
