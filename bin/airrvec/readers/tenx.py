"""10x Genomics V(D)J: ``filtered_contig_annotations.csv`` and ``all_contig_annotations.csv``."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.readers._chains import booleans, chain_table, column, counts

NAME = "10x"
TITLE = "10x filtered_contig_annotations.csv"
DELIMITER = ","
LAYOUTS = (("barcode", "chain", "v_gene", "j_gene", "cdr3"),)
OPTIONAL = ("sample", "productive", "is_cell", "high_confidence", "reads", "umis")


def chains(table: pa.Table) -> pa.Table:
    """One chain a contig; contigs of one barcode are one cell."""
    barcode = column(table, "barcode")
    # Some tables join several samples, in which the same barcode is another cell.
    key = pc.binary_join_element_wise(
        pc.fill_null(column(table, "sample"), ""), barcode, "\0", null_handling="emit_null"
    )
    return chain_table(
        row=table["row"],
        cell_key=key,
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
    )
