"""tcrdist3 clone table, paired (as for the receptors of Dash et al. 2017) or of one chain."""

from airrvec.core import schema
from airrvec.input.formats.chains import chains_of_pairs
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "tcrdist"
TITLE = "tcrdist3 clone table"
ROW = "clonotype"
DELIMITER = None
_CHAINS = {
    "TRA": {"v_call": "v_a_gene", "j_call": "j_a_gene", "junction_aa": "cdr3_a_aa"},
    "TRB": {"v_call": "v_b_gene", "j_call": "j_b_gene", "junction_aa": "cdr3_b_aa"},
}
_ALPHA, _BETA = (tuple(names.values()) for names in _CHAINS.values())

LAYOUTS = ((*_ALPHA, *_BETA), _BETA, _ALPHA)
OPTIONAL = ("clone_id", "count", *schema.LABELS)  # tcrdist3 has `epitope`; the others by our names


ROLES = {"copies": ("count",)}


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return both chains of a row, or the one that the table has."""
    return chains_of_pairs(
        table,
        _CHAINS,
        cell_id="clone_id",
        roles=roles,
        labels={label: label for label in schema.LABELS},
    )
