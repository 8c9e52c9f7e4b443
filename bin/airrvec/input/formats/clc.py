"""Clonotypes of QIAGEN CLC Genomics Workbench (Immune Repertoire Analysis), as its table is exported."""

from airrvec.input.formats.chains import chain_table, column
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "clc"
TITLE = "CLC Genomics Workbench clonotypes"
ROW = "clonotype"
DELIMITER = None
_JUNCTION = "CDR3 amino acid sequence"
LAYOUTS = (("Chain", "V", "J", _JUNCTION),)
# The CDR3 has the conserved ends.
OPTIONAL = ("CDR3 nucleotide sequence", "D", "Count", "Productive")
ROLES = {"copies": ("Count",), "productive": ("Productive",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per row; several genes are separated by commas."""
    return chain_table(
        row=table["row"],
        locus=column(table, "Chain"),
        v_call=column(table, "V"),
        j_call=column(table, "J"),
        junction_aa=column(table, _JUNCTION),
        **roles.read(table),
        d_call=column(table, "D"),
        junction=column(table, "CDR3 nucleotide sequence"),
    )
