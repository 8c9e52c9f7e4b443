"""Adaptive immunoSEQ exports, one chain per row: ``amino_acid`` (v1, v3, v4) or ``aminoAcid`` (v2)."""

from collections.abc import Iterable

from airrvec.input.formats.chains import chain_table, column, first_value
from airrvec.input.roles import Roles

import pyarrow as pa
import pyarrow.compute as pc

NAME = "immunoseq"
TITLE = "Adaptive immunoSEQ"
ROW = "clonotype"
DELIMITER = "\t"

_NOTHING = pa.array(["na", "no data", "unresolved", "unknown", "undefined"])
# Columns of a gene in both spellings of the header: most resolved name, gene, allele, ties, family.
_RESOLVED, _GENE, _ALLELE, _TIES, _FAMILY = (
    ("{}_resolved", "{}MaxResolved"),
    ("{}_gene", "{}GeneName"),
    ("{}_allele", "{}GeneAllele"),
    ("{}_gene_ties", "{}GeneNameTies"),
    ("{}_family", "{}FamilyName"),
)
_JUNCTION = ("amino_acid", "aminoAcid", "cdr3_amino_acid")
_FRAME = ("frame_type", "sequenceStatus")
_TEMPLATES = ("templates", "count (templates)", "count (templates/reads)")
_READS = ("count (reads)", "seq_reads", "reads")


def _spelled(names: tuple[str, ...], segment: str) -> list[str]:
    return [name.format(segment) for name in names]


LAYOUTS = (
    ("amino_acid", "v_gene", "j_gene"),
    ("amino_acid", "v_resolved", "j_resolved"),
    ("cdr3_amino_acid", "v_gene", "j_gene"),
    ("cdr3_amino_acid", "v_resolved", "j_resolved"),
    ("aminoAcid", "vGeneName", "jGeneName"),
    ("aminoAcid", "vMaxResolved", "jMaxResolved"),
)
OPTIONAL = (
    *_FRAME,
    *_TEMPLATES,
    *_READS,
    "locus",
    "species",
    *(
        name
        for segment in "vj"
        for names in (_RESOLVED, _GENE, _ALLELE, _TIES, _FAMILY)
        for name in _spelled(names, segment)
    ),
)


ROLES = {"templates": _TEMPLATES, "copies": (*_READS, "count"), "productive": _FRAME}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per row, with the most resolved name of each gene."""
    v_call, j_call = _call(table, "v"), _call(table, "j")
    return chain_table(
        row=table["row"],
        species=_first(table, ("species",)),
        locus=pc.coalesce(*(_locus(names) for names in (v_call, j_call, _first(table, ("locus",))))),
        v_call=v_call,
        j_call=j_call,
        junction_aa=_first(table, _JUNCTION),
        **roles.read(table),
    )


def _known(table: pa.Table, name: str) -> pa.ChunkedArray:
    """Return a column with nulls for the words of `_NOTHING`."""
    values = column(table, name)
    return pc.if_else(pc.is_in(pc.utf8_lower(values), _NOTHING), _null(), values)


def _first(table: pa.Table, names: Iterable[str]) -> pa.ChunkedArray:
    return first_value(table, names, _known)


def _call(table: pa.Table, segment: str) -> pa.ChunkedArray:
    """Return the allele, else the gene, else the tied genes, else the family."""
    resolved, gene, allele, ties, family = (
        _first(table, _spelled(names, segment)) for names in (_RESOLVED, _GENE, _ALLELE, _TIES, _FAMILY)
    )
    gene_known = pc.fill_null(pc.match_substring(resolved, "-"), False)
    allele = pc.if_else(pc.match_substring_regex(allele, "^[0-9]{1,2}$"), allele, _null())
    with_allele = pc.binary_join_element_wise(
        gene, pc.utf8_lpad(allele, width=2, padding="0"), "*", null_handling="emit_null"
    )
    return pc.coalesce(
        pc.if_else(gene_known, resolved, _null()),
        pc.if_else(pc.match_substring(gene, "*"), gene, _null()),
        with_allele,
        gene,
        ties,
        resolved,
        family,
    )


def _locus(names: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_slice_codeunits(pc.replace_substring_regex(names, "^TCR", "TR"), 0, 3)


def _null() -> pa.Scalar:
    return pa.scalar(None, pa.string())
