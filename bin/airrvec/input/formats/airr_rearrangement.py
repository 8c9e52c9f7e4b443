"""AIRR rearrangement TSV, bulk or single-cell (AIRR Data Representation Standard)."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.input.formats.chains import (
    SAMPLE_COLUMNS,
    booleans,
    cell_keys,
    chain_table,
    column,
    counts,
    junctions,
    kept_fields,
)

NAME = "airr"
TITLE = "AIRR rearrangement TSV"
DELIMITER = "\t"
LAYOUTS = (("v_call", "j_call", "junction_aa"), ("v_call", "j_call", "cdr3_aa"))
OPTIONAL = (
    "sequence_id",
    "cell_id",
    "clone_id",
    "species",
    "locus",
    "productive",
    "duplicate_count",
    "consensus_count",
    "umi_count",
    "is_cell",
    *SAMPLE_COLUMNS,
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
    """Return a warning that lists the required AIRR columns that are missing; airrvec does not need them."""
    missing = [name for name in REQUIRED if name not in columns]
    if not missing:
        return []
    return [f"not strictly AIRR: these required columns are missing: {', '.join(missing)}"]


def chains(table: pa.Table) -> pa.Table:
    """Return one chain per row; chains with one ``cell_id`` in one sample are one cell."""
    cell = column(table, "cell_id")
    sequence = column(table, "sequence_id")
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, cell),
        chain_key=sequence,
        cell_id=pc.coalesce(cell, column(table, "clone_id"), sequence),
        species=column(table, "species"),
        locus=column(table, "locus"),
        v_call=column(table, "v_call"),
        j_call=column(table, "j_call"),
        **junctions(table, "junction_aa", "cdr3_aa"),
        productive=booleans(column(table, "productive")),
        is_cell=booleans(column(table, "is_cell")),
        duplicate_count=counts(
            pc.coalesce(column(table, "duplicate_count"), column(table, "consensus_count"))
        ),
        umi_count=counts(column(table, "umi_count")),
        **{label: column(table, label) for label in schema.LABELS},
        **kept_fields(table),
    )
