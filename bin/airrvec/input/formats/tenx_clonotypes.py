"""10x Genomics V(D)J: ``clonotypes.csv``, all junctions of a clonotype in one cell of the table, no genes."""

from airrvec.input.formats.chains import chain_table, column, named_junctions
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "10x_clonotypes"
TITLE = "10x clonotypes.csv"
ROW = "clonotype"
DELIMITER = ","
LAYOUTS = (("clonotype_id", "frequency", "cdr3s_aa"),)
OPTIONAL = ()


ROLES = {"cells": ("frequency",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a clonotype: ``TRA:CAVF;TRB:CASSF`` are two."""
    fields, clonotypes = named_junctions(table, "cdr3s_aa", ["row", "clonotype_id", "frequency"])
    return chain_table(
        row=clonotypes["row"],
        cell_id=column(clonotypes, "clonotype_id"),
        **roles.read(clonotypes),
        **fields,
    )
