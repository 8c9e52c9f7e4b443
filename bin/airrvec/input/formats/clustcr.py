"""
clusTCR's input table: CDR3 and V gene.

A table with further columns is not recognised, because they may describe the chain more fully.
"""

from airrvec.input.formats.chains import chain_table, column
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "clustcr"
TITLE = "clusTCR"
ROW = "clonotype"
DELIMITER = None
LAYOUTS = (("CDR3", "V"),)
OPTIONAL = ("", "count", "cluster")
CLOSED = True


ROLES = {"copies": ("count",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per row; its V gene determines the locus."""
    return chain_table(
        row=table["row"],
        v_call=column(table, "V"),
        junction_aa=column(table, "CDR3"),
        **roles.read(table),
    )
