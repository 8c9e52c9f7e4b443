"""
clusTCR's input table: CDR3 and V gene.

A table with further columns is not recognised, because they may describe the chain more fully.
"""

import pyarrow as pa

from airrvec.input.formats.chains import chain_table, column, counts

NAME = "clustcr"
TITLE = "clusTCR"
DELIMITER = None
LAYOUTS = (("CDR3", "V"),)
OPTIONAL = ("", "count", "cluster")
CLOSED = True


def chains(table: pa.Table) -> pa.Table:
    """Return one chain per row; its V gene determines the locus."""
    return chain_table(
        row=table["row"],
        v_call=column(table, "V"),
        junction_aa=column(table, "CDR3"),
        duplicate_count=counts(column(table, "count")),
    )
