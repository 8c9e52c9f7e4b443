"""McPAS-TCR download, both chains in one row."""

from airrvec.input.formats.chains import chains_of_pairs, column

import pyarrow as pa
import pyarrow.compute as pc

NAME = "mcpas"
TITLE = "McPAS-TCR"
ROW = "pair"
DELIMITER = ","
_CHAINS = {
    "TRA": {"v_call": "TRAV", "j_call": "TRAJ", "junction_aa": "CDR3.alpha.aa"},
    "TRB": {"v_call": "TRBV", "j_call": "TRBJ", "junction_aa": "CDR3.beta.aa"},
}
_LABELS = {
    "epitope": "Epitope.peptide",
    "antigen_gene": "Antigen.protein",
    "antigen_species": "Pathology",
    "mhc_a": "MHC",
    "reference_id": "PubMed.ID",
    "label_method": "Antigen.identification.method",
}

LAYOUTS = (tuple(name for names in _CHAINS.values() for name in names.values()),)
OPTIONAL = ("Species", "Category", *_LABELS.values())


def chains(table: pa.Table) -> pa.Table:
    """
    Return both chains of a row.

    ``Pathology`` is the species of the antigen only where ``Category`` is Pathogens; elsewhere it is a
    disease, such as melanoma. A number in ``PubMed.ID`` becomes ``PMID:`` and the number, and the number of
    McPAS's list of methods becomes ``McPAS method`` and the number.
    """
    pathogen = pc.match_substring(pc.fill_null(column(table, "Category"), "Pathogens"), "Pathogen")
    table = _replaced(table, "Pathology", pc.if_else(pathogen, column(table, "Pathology"), None))
    study = pc.replace_substring_regex(column(table, "PubMed.ID"), "^([0-9]+)$", r"PMID:\1")
    table = _replaced(table, "PubMed.ID", study)
    name = _LABELS["label_method"]
    method = pc.replace_substring_regex(column(table, name), "^([0-9])", r"McPAS method \1")
    table = _replaced(table, name, method)
    return chains_of_pairs(table, _CHAINS, species="Species", labels=_LABELS)


def _replaced(table: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    """Return a table with other values in a column, if it has the column."""
    if name not in table.column_names:
        return table
    return table.set_column(table.column_names.index(name), name, values)
