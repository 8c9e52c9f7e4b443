"""
Chain classes of receptors, by the chains with a known junction: paired, alpha, beta.

All code that selects receptors by chain uses these names and functions.
"""

from collections.abc import Sequence

from airrvec.core import schema

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

CHAIN_CLASSES = schema.ALPHA_BETA.chains
CHAIN_LOCI = {"paired": schema.LOCI, "alpha": ("TRA",), "beta": ("TRB",)}
CHAIN_TITLES = {"paired": "α and β chains", "alpha": "α chains alone", "beta": "β chains alone"}
GREEK = {"TRA": "α", "TRB": "β", "TRG": "γ", "TRD": "δ"}


def chain_classes(receptors: pa.Table, lineage: schema.Lineage = schema.ALPHA_BETA) -> np.ndarray:
    """
    Return the chain class of each receptor, by the chains with a known junction.

    Parameters
    ----------
    receptors : pyarrow.Table
        ``receptors`` of the lineage.

    Returns
    -------
    ndarray of str, shape (n,)
        One of the lineage's ``chains``, or an empty string if no junction is known.
    """
    first, second = (
        pc.is_valid(receptors[schema.field(locus, "junction_aa")]).to_numpy() for locus in lineage.loci
    )
    return np.select([first & second, first, second], lineage.chains, "")


def chain_class_sql(lineage: schema.Lineage = schema.ALPHA_BETA) -> str:
    """Return `chain_classes` as an expression for duckdb: null if no junction is known."""
    first, second = (f"{schema.field(locus, 'junction_aa')} IS NOT NULL" for locus in lineage.loci)
    conditions = (f"{first} AND {second}", first, second)
    cases = (f"WHEN {one} THEN '{name}'" for one, name in zip(conditions, lineage.chains, strict=True))
    return f"CASE {' '.join(cases)} END"


def has_chains(receptors: pa.Table, chains: str) -> np.ndarray:
    """Return whether each receptor has the chains of a class; a paired receptor belongs to every class."""
    classes = chain_classes(receptors)
    return (classes == "paired") | (classes == chains)


def has_equal_junctions(
    receptors: pa.Table | dict, lineage: schema.Lineage = schema.ALPHA_BETA
) -> np.ndarray:
    """
    Return whether the junctions of both chains of each receptor are the same; shape (n,).

    Recombination of two loci does not make the same junction twice: one of them was copied by mistake.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        Its fields: of αβ receptors, `airrvec.core.schema.RECEPTOR_FIELDS`.
    """
    equal = pc.equal(*(receptors[schema.field(locus, "junction_aa")] for locus in lineage.loci))
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


# --- Names of receptors for readers: V gene, CDR3 and J gene of both chains

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
    locus : {"TRA", "TRB", "TRG", "TRD"}
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
    receptors: pa.Table | dict,
    *,
    loci: Sequence[str] = (),
    absent: str = NO_CHAIN,
    lineage: schema.Lineage = schema.ALPHA_BETA,
) -> pa.ChunkedArray:
    """
    Return the name of each receptor, e.g. ``TRAV1-2 CAVMDSNYQLIW TRAJ33 · TRBV6-4 CASSDSGGYEQYF TRBJ2-7``.

    Parameters
    ----------
    receptors : pyarrow.Table or dict of columns
        Of αβ receptors: `airrvec.core.schema.RECEPTOR_FIELDS`, n rows.
    loci : sequence of str
        Chains that are compared, both if not given; the others are written as `NOT_COMPARED`.
    absent : str
        Text for a chain without any field.

    Returns
    -------
    pyarrow.ChunkedArray of string, length n
        Null where neither chain is known.
    """
    words = [absent if locus in (loci or lineage.loci) else NOT_COMPARED for locus in lineage.loci]
    chains = [chain_names(receptors, locus) for locus in lineage.loci]
    known = pc.or_(*(pc.is_valid(chain) for chain in chains))
    shown = [
        pc.fill_null(chain, word.format(chain=GREEK[locus]))
        for chain, word, locus in zip(chains, words, lineage.loci, strict=True)
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
