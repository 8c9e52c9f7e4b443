"""
BD Rhapsody tables of chains (``…_VDJ_perCellChain``), contigs (``…_VDJ_…_Contigs``) and cells
(``…_VDJ_perCell``). ``…_AIRR.tsv`` files are read as `airr`.
"""

from airrvec.input.formats.chains import any_valid, cell_keys, chain_table, column
from airrvec.input.roles import Roles

import pyarrow as pa
import pyarrow.compute as pc

NAME = "bd"
TITLE = "BD Rhapsody VDJ chains, contigs or cells"
ROW = "chain"
DELIMITER = ","
_FIELDS = ("V_gene", "J_gene", "CDR3_Translation")
_DOMINANT = tuple(f"{name}_Dominant" for name in _FIELDS)
# Columns of the table of cells: α and γ share one group, β and δ the other; the genes determine the locus.
PREFIXES = ("TCR_Alpha_Gamma", "TCR_Beta_Delta")
ROLES = {
    "cell": ("Cell_Index",),
    "UMIs": ("Molecule_Count", "…_Molecule_Count"),
    "reads": ("Read_Count", "…_Read_Count"),
}

LAYOUTS = (
    ("Cell_Index", "Chain_Type", *_FIELDS),
    ("Cell_Index", "Chain_Type", *_DOMINANT),
    ("Cell_Index", *(f"{arm}_{name}" for arm in PREFIXES for name in _DOMINANT)),
)
OPTIONAL = (
    *("Productive", "Putative", "Putative_Cell", "Read_Count", "Molecule_Count"),
    *(f"{arm}_{count}" for arm in PREFIXES for count in ("Read_Count", "Molecule_Count")),
)

_LOCI = {
    "TCR_Alpha": "TRA",
    "TCR_Beta": "TRB",
    "TCR_Gamma": "TRG",
    "TCR_Delta": "TRD",
    "BCR_Heavy": "IGH",
    "BCR_Kappa": "IGK",
    "BCR_Lambda": "IGL",
}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """
    Return one chain per row, or both; chains with one ``Cell_Index`` are one cell.

    The CDR3s have no conserved ends.
    """
    if "Chain_Type" in table.column_names:
        names = _DOMINANT if _DOMINANT[0] in table.column_names else _FIELDS
        return _chains(table, names, roles, roles.read(table))
    parts = []
    for arm in PREFIXES:
        names = tuple(f"{arm}_{name}" for name in _DOMINANT)
        part = _chains(table, names, roles, roles.read(table) | roles.parts[arm].read(table))
        parts.append(part.filter(any_valid(*(part[name] for name in ("v_call", "j_call", "junction_aa")))))
    return pa.concat_tables(parts).sort_by([("row", "ascending")])


def _chains(table: pa.Table, names: tuple[str, ...], roles: Roles, role_columns: dict) -> pa.Table:
    v_gene, j_gene, junction = names
    cell = column(table, "Cell_Index")
    chain_type = column(table, "Chain_Type")
    locus_index = pc.index_in(chain_type, pa.array(list(_LOCI)))
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, cell, roles.samples),
        cell_id=cell,
        locus=pc.coalesce(pc.take(pa.array(list(_LOCI.values())), locus_index), chain_type),
        v_call=column(table, v_gene),
        j_call=column(table, j_gene),
        junction_aa=column(table, junction),
        **role_columns,
    )
