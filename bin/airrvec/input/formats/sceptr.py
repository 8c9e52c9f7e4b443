"""Plain table of six columns, as read by the ``sceptr`` package."""

import pyarrow as pa

from airrvec.input.formats.chains import chains_of_pairs

NAME = "sceptr"
TITLE = "Plain table: TRAV, CDR3A, TRAJ, TRBV, CDR3B, TRBJ"
DELIMITER = None
_CHAINS = {
    "TRA": {"v_call": "TRAV", "j_call": "TRAJ", "junction_aa": "CDR3A"},
    "TRB": {"v_call": "TRBV", "j_call": "TRBJ", "junction_aa": "CDR3B"},
}
_LABELS = {
    "epitope": "Epitope",
    "antigen_gene": "antigen_gene",
    "antigen_species": "antigen_species",
    "mhc_class": "mhc_class",
    "mhc_a": "MHCA",
    "mhc_b": "MHCB",
    "reference_id": "reference_id",
    "confidence": "confidence",
    "split": "split",
}

LAYOUTS = (("TRAV", "CDR3A", "TRAJ", "TRBV", "CDR3B", "TRBJ"),)
OPTIONAL = ("cell_id", "species", "duplicate_count", *_LABELS.values())


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row."""
    return chains_of_pairs(
        table,
        _CHAINS,
        cell_id="cell_id",
        species="species",
        duplicate_count="duplicate_count",
        labels=_LABELS,
    )
