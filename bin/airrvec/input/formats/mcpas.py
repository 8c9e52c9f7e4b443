"""McPAS-TCR download, both chains in one row."""

import pyarrow as pa

from airrvec.input.formats.chains import chains_of_pairs

NAME = "mcpas"
TITLE = "McPAS-TCR"
DELIMITER = ","
_CHAINS = {
    "TRA": {"v_call": "TRAV", "j_call": "TRAJ", "junction_aa": "CDR3.alpha.aa"},
    "TRB": {"v_call": "TRBV", "j_call": "TRBJ", "junction_aa": "CDR3.beta.aa"},
}
_LABELS = {
    "epitope": "Epitope.peptide",
    "antigen_gene": "Antigen.protein",
    "mhc_a": "MHC",
    "reference_id": "PubMed.ID",
}

LAYOUTS = (tuple(name for names in _CHAINS.values() for name in names.values()),)
OPTIONAL = ("Species", *_LABELS.values())


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row."""
    return chains_of_pairs(table, _CHAINS, species="Species", labels=_LABELS)
