"""10x Genomics V(D)J: ``filtered_contig_annotations.csv`` and ``all_contig_annotations.csv``."""

import pyarrow as pa

from airrvec.core import schema
from airrvec.input.formats.chains import (
    SAMPLE_COLUMNS,
    booleans,
    cell_keys,
    chain_table,
    column,
    counts,
    kept_fields,
)

NAME = "10x"
TITLE = "10x filtered_contig_annotations.csv"
DELIMITER = ","
LAYOUTS = (("barcode", "chain", "v_gene", "j_gene", "cdr3"),)
# Field of AIRR → column; the CDR3 of 10x has the conserved ends, so its nucleotides are the junction.
_KEPT = {
    "sequence_id": "contig_id",
    "d_call": "d_gene",
    "c_call": "c_gene",
    "junction": "cdr3_nt",
    "clone_id": "raw_clonotype_id",
}
OPTIONAL = (
    *("productive", "is_cell", "high_confidence", "reads", "umis"),
    *(*_KEPT.values(), *SAMPLE_COLUMNS, *schema.LABELS),  # 10x has no labels; those of BEAM can be joined
)


def chains(table: pa.Table) -> pa.Table:
    """Return one chain per contig; contigs with one barcode are one cell."""
    barcode = column(table, "barcode")
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, barcode),
        chain_key=column(table, "contig_id"),
        cell_id=barcode,
        locus=column(table, "chain"),
        v_call=column(table, "v_gene"),
        j_call=column(table, "j_gene"),
        junction_aa=column(table, "cdr3"),
        productive=booleans(column(table, "productive")),
        is_cell=booleans(column(table, "is_cell")),
        high_confidence=booleans(column(table, "high_confidence")),
        duplicate_count=counts(column(table, "reads")),
        umi_count=counts(column(table, "umis")),
        **{label: column(table, label) for label in schema.LABELS},
        **kept_fields(table, _KEPT),
    )
