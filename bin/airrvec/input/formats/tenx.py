"""10x Genomics V(D)J: ``filtered_contig_annotations.csv`` and ``all_contig_annotations.csv``."""

from airrvec.core import schema
from airrvec.input.formats.chains import cell_keys, chain_table, column, kept_fields
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "10x"
TITLE = "10x filtered_contig_annotations.csv"
ROW = "chain"
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
    *(*_KEPT.values(), *schema.LABELS),  # 10x has no labels; those of BEAM can be joined
)


ROLES = {"cell": ("barcode",), "UMIs": ("umis",), "reads": ("reads",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per contig; contigs with one barcode are one cell."""
    barcode = column(table, "barcode")
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, barcode, roles.samples),
        chain_key=column(table, "contig_id"),
        cell_id=barcode,
        locus=column(table, "chain"),
        v_call=column(table, "v_gene"),
        j_call=column(table, "j_gene"),
        junction_aa=column(table, "cdr3"),
        **roles.read(table),
        **{label: column(table, label) for label in schema.LABELS},
        **kept_fields(table, _KEPT),
    )
