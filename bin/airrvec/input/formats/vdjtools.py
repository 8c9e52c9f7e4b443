"""
VDJtools clonotype table, one chain per row; names as in the manual (``CDR3aa``) or the program (``cdr3aa``).

TRUST4 ``…_report.tsv`` files have the manual's header too.
"""

from airrvec.input.formats.chains import chain_table, column
from airrvec.input.roles import Roles

import pyarrow as pa
import pyarrow.compute as pc

NAME = "vdjtools"
TITLE = "VDJtools clonotype table"
ROW = "clonotype"
DELIMITER = "\t"
LAYOUTS = (("count", "cdr3aa", "v", "j"), ("count", "CDR3aa", "V", "J"))
OPTIONAL = ("cdr3nt", "CDR3nt", "d", "D")

# VDJtools word for a missing value; TRUST4 words for no gene and for a CDR3 without its end.
_NOTHING = pa.array([".", "*", "partial"])


ROLES = {"copies": ("count",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per row."""

    def values_of(name: str, name_in_manual: str) -> pa.ChunkedArray:
        values = pc.coalesce(column(table, name), column(table, name_in_manual))
        return pc.if_else(pc.is_in(values, _NOTHING), pa.scalar(None, pa.string()), values)

    return chain_table(
        row=table["row"],
        v_call=values_of("v", "V"),
        j_call=values_of("j", "J"),
        junction_aa=values_of("cdr3aa", "CDR3aa"),
        **roles.read(table),
        d_call=values_of("d", "D"),
        junction=values_of("cdr3nt", "CDR3nt"),
    )
