"""
clusTCR's input: the CDR3 and the V gene, and no more.

So plain a table is recognised only where it has no further columns: these would say more of the chain.
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
    """A chain a row; the V gene says which."""
    return chain_table(
        row=table["row"],
        v_call=column(table, "V"),
        junction_aa=column(table, "CDR3"),
        duplicate_count=counts(column(table, "count")),
    )
