"""
TIRTL-seq pairs (``…_TIRTLoutput.tsv``): an α and a β chain that were in the same wells.

A pair has a row for each algorithm (``method``) that found it.
"""

from airrvec.input.formats.chains import any_valid, chain_table, column
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "tirtl"
TITLE = "TIRTL-seq pairs"
ROW = "pair"
DELIMITER = "\t"
_CHAINS = {"TRA": ("va", "ja", "cdr3a", "alpha_nuc"), "TRB": ("vb", "jb", "cdr3b", "beta_nuc")}
LAYOUTS = (("method", *(name for names in _CHAINS.values() for name in names)),)
OPTIONAL = ()
ROLES = {"cell": ("alpha_nuc+beta_nuc",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return both chains of a pair; rows with the same nucleotides are one pair."""
    parts = []
    for locus, names in _CHAINS.items():
        fields = ("v_call", "j_call", "junction_aa", "junction")
        values = {field: column(table, name) for field, name in zip(fields, names, strict=True)}
        part = chain_table(
            row=table["row"],
            cell_key=roles.cells(table),
            locus=pa.chunked_array([pa.repeat(locus, len(table))]),
            **roles.read(table),
            **values,
        )
        parts.append(part.filter(any_valid(*values.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending"), ("locus", "ascending")])
