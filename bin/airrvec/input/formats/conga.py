"""CoNGA clonotype tables: the clones file (``va_gene``, …) and the tables of results (``va``, …)."""

from airrvec.input.formats.chains import any_valid, chain_table, column
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "conga"
TITLE = "CoNGA clones"
ROW = "clonotype"
DELIMITER = None

# Locus, and the columns of V gene, J gene and junction; a clones file may have a second α chain.
_CLONES = (
    ("TRA", "va_gene", "ja_gene", "cdr3a"),
    ("TRA", "va2_gene", "ja2_gene", "cdr3a2"),
    ("TRB", "vb_gene", "jb_gene", "cdr3b"),
)
_RESULTS = (("TRA", "va", "ja", "cdr3a"), ("TRB", "vb", "jb", "cdr3b"))

LAYOUTS = (
    (*_CLONES[0][1:], *_CLONES[2][1:]),
    (*_RESULTS[0][1:], *_RESULTS[1][1:]),
    _CLONES[2][1:],
    _RESULTS[1][1:],
)
OPTIONAL = ("clone_id", "clone_size", "clone_sizes", *_CLONES[1][1:])


ROLES = {"cells": ("clone_size", "clone_sizes")}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a clonotype; the α chain with more UMIs is first, as CoNGA writes it."""
    parts = []
    for locus, *names in _CLONES if "vb_gene" in table.column_names else _RESULTS:
        calls = (column(table, name) for name in names)
        fields = dict(zip(("v_call", "j_call", "junction_aa"), calls, strict=True))
        part = chain_table(
            row=table["row"],
            cell_id=column(table, "clone_id"),
            locus=pa.chunked_array([pa.repeat(locus, len(table))]),
            **roles.read(table),
            **fields,
        )
        parts.append(part.filter(any_valid(*fields.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending")])
