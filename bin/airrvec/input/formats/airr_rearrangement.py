"""AIRR rearrangement TSV, bulk or single-cell (AIRR Data Representation Standard)."""

from dataclasses import replace

from airrvec.core import schema
from airrvec.input import values
from airrvec.input.formats.chains import (
    airr_counts,
    cell_keys,
    chain_table,
    column,
    counts_umis_as_duplicates,
    junctions,
    kept_fields,
)
from airrvec.input.role_names import CELL, COPIES, FLAGS, READS, UMIS, spelled, strings_of
from airrvec.input.roles import Roles, choose, or_inside

import pyarrow as pa
import pyarrow.compute as pc

NAME = "airr"
TITLE = "AIRR rearrangement TSV"
ROW = "chain"
DELIMITER = "\t"
LAYOUTS = (("v_call", "j_call", "junction_aa"), ("v_call", "j_call", "cdr3_aa"))
OPTIONAL = (
    "sequence_id",
    "clone_id",
    "species",
    "locus",
    "vj_in_frame",
    "stop_codon",
    "consensus_count",
    *schema.LABELS,
    *(name for name in schema.KEPT_FIELDS if name not in ("sequence_id", "clone_id")),
)

# Columns that the standard requires. A test compares them with the package `airr`, whose import takes longer
# than reading a small file.
REQUIRED = (
    "sequence_id",
    "sequence",
    "rev_comp",
    "productive",
    "v_call",
    "d_call",
    "j_call",
    "sequence_alignment",
    "germline_alignment",
    "junction",
    "junction_aa",
    "v_cigar",
    "d_cigar",
    "j_cigar",
)


def warnings(columns: list[str]) -> list[str]:
    """Return warnings: columns that AIRR requires, and airrvec does not, are missing; units of the counts."""
    sentences = []
    if missing := [name for name in REQUIRED if name not in columns]:
        sentences.append(f"not strictly AIRR: these required columns are missing: {', '.join(missing)}")
    if counts_umis_as_duplicates(columns):
        sentences.append(
            "duplicate_count is read as UMIs and consensus_count as reads, as Cell Ranger writes them: the"
            " table has is_cell, and no umi_count"
        )
    return sentences


# In Cell Ranger's table, `duplicate_count` has another unit (`airr_counts`).
ROLES = {
    "cell": CELL,
    "UMIs": UMIS,
    "reads": (*READS, "consensus_count"),
    "copies": COPIES,
    "cells": ("cell_count", "n_cells", "num_cells"),  # where no column names them
}


def roles(table: pa.Table) -> Roles:
    """Return the columns of cell, counts and flags; a cell or count may be inside ``sequence_id``."""
    counts = spelled(table.column_names, (*UMIS, *READS, "consensus_count", *COPIES, "is_cell"))
    filled = [name for name in counts if strings_of(table, name).null_count < len(table)]
    roles = or_inside(choose(table, cell=CELL, flags=FLAGS, **airr_counts(filled)), table, "sequence_id")
    if roles.cell is not None:
        return roles
    clonotypes = choose(table, cells=ROLES["cells"])
    return replace(roles, counts=roles.counts | clonotypes.counts, units=roles.units | clonotypes.units)


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per row; chains of one cell in one sample are one cell."""
    cell = roles.cells(table)
    sequence = column(table, "sequence_id")
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, cell, roles.samples),
        chain_key=sequence,
        cell_id=pc.coalesce(cell, column(table, "clone_id"), sequence),
        species=column(table, "species"),
        locus=column(table, "locus"),
        v_call=column(table, "v_call"),
        j_call=column(table, "j_call"),
        **junctions(table, "junction_aa", "cdr3_aa"),
        **_with_frames(table, roles.read(table)),
        **{label: column(table, label) for label in schema.LABELS},
        **kept_fields(table),
    )


def _with_frames(table: pa.Table, fields: dict[str, pa.ChunkedArray]) -> dict[str, pa.ChunkedArray]:
    """Return the fields; where ``productive`` is empty, a frame or a stop codon may say that it is false."""
    if not {"vj_in_frame", "stop_codon"} & set(table.column_names):
        return fields
    frame, stop = (values.truths(column(table, name)) for name in ("vj_in_frame", "stop_codon"))
    fails = pc.or_kleene(pc.equal(frame, False), stop)
    verdict = pc.if_else(pc.fill_null(fails, False), False, pa.scalar(None, pa.bool_()))
    productive = fields.get("productive", verdict)
    return fields | {"productive": pc.coalesce(productive, verdict)}
