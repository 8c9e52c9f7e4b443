"""10x Genomics V(D)J: ``clonotypes.csv``, all junctions of a clonotype in one cell of the table, no genes."""

import pyarrow as pa

from airrvec.input.formats.chains import chain_table, column, counts, named_junctions

NAME = "10x_clonotypes"
TITLE = "10x clonotypes.csv"
DELIMITER = ","
LAYOUTS = (("clonotype_id", "frequency", "cdr3s_aa"),)
OPTIONAL = ()


def chains(table: pa.Table) -> pa.Table:
    """Return all chains of a clonotype: ``TRA:CAVF;TRB:CASSF`` are two."""
    fields, clonotypes = named_junctions(table, "cdr3s_aa", ["row", "clonotype_id", "frequency"])
    return chain_table(
        row=clonotypes["row"],
        cell_id=column(clonotypes, "clonotype_id"),
        duplicate_count=counts(column(clonotypes, "frequency")),
        **fields,
    )
