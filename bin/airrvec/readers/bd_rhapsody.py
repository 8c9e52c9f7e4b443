"""BD Rhapsody: the tables of chains (``…_VDJ_perCellChain``) and of contigs (``…_VDJ_…_Contigs``)."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.readers._chains import booleans, chain_table, column, counts

NAME = "bd"
TITLE = "BD Rhapsody VDJ chains or contigs"
DELIMITER = ","
LAYOUTS = (("Cell_Index", "Chain_Type", "V_gene", "J_gene", "CDR3_Translation"),)
OPTIONAL = ("Productive", "Putative", "Putative_Cell", "Read_Count", "Molecule_Count")

_LOCI = {
    "TCR_Alpha": "TRA",
    "TCR_Beta": "TRB",
    "TCR_Gamma": "TRG",
    "TCR_Delta": "TRD",
    "BCR_Heavy": "IGH",
    "BCR_Kappa": "IGK",
    "BCR_Lambda": "IGL",
}


def chains(table: pa.Table) -> pa.Table:
    """One chain a row; those of one ``Cell_Index`` are one cell. The CDR3 comes without its ends."""
    cell = column(table, "Cell_Index")
    chain_type = column(table, "Chain_Type")
    named = pc.index_in(chain_type, pa.array(list(_LOCI)))
    return chain_table(
        row=table["row"],
        cell_key=cell,
        cell_id=cell,
        locus=pc.coalesce(pc.take(pa.array(list(_LOCI.values())), named), chain_type),
        v_call=column(table, "V_gene"),
        j_call=column(table, "J_gene"),
        junction_aa=column(table, "CDR3_Translation"),
        productive=booleans(column(table, "Productive")),
        is_cell=booleans(pc.coalesce(column(table, "Putative"), column(table, "Putative_Cell"))),
        duplicate_count=counts(column(table, "Read_Count")),
        umi_count=counts(column(table, "Molecule_Count")),
    )
