"""Plain table of six columns, as read by the ``sceptr`` package."""

from airrvec.input.formats.chains import chains_of_pairs
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "sceptr"
TITLE = "Plain table: TRAV, CDR3A, TRAJ, TRBV, CDR3B, TRBJ"
ROW = "pair"
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


ROLES = {"cell": ("cell_id",), "copies": ("duplicate_count",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return both chains of a row."""
    return chains_of_pairs(
        table,
        _CHAINS,
        cell_id="cell_id",
        species="species",
        roles=roles,
        labels=_LABELS,
    )
