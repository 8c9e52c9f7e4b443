"""
IMMREP benchmark tables (2022 and 2023): one receptor per row, and whether it binds a peptide.

``Label`` or ``Target`` is 1 for a binder. In all other rows, the receptor was tested with the peptide and
the MHC, or paired with them at random; they are not used as labels.
"""

from airrvec.input.formats.chains import chains_of_pairs, column

import pyarrow as pa
import pyarrow.compute as pc

NAME = "immrep"
TITLE = "IMMREP"
ROW = "pair"
DELIMITER = None

_2022 = {
    "TRA": {"v_call": "TRAV", "j_call": "TRAJ", "junction_aa": "TRA_CDR3"},
    "TRB": {"v_call": "TRBV", "j_call": "TRBJ", "junction_aa": "TRB_CDR3"},
}
_2023 = {
    "TRA": {"v_call": "Va", "j_call": "Ja", "junction_aa": "CDR3a_extended"},
    "TRB": {"v_call": "Vb", "j_call": "Jb", "junction_aa": "CDR3b_extended"},
}
_LABELS = {"epitope": "Peptide", "mhc_a": "HLA"}
_BINDS = ("Label", "Target")
_YES = pa.array(["1", "1.0", "True", "true"])

LAYOUTS = tuple(
    tuple(name for names in table.values() for name in names.values()) for table in (_2022, _2023)
)
OPTIONAL = (*_LABELS.values(), *_BINDS)


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row, labelled if the receptor is a binder."""
    answers = [column(table, name) for name in _BINDS]
    binds = pc.is_in(pc.coalesce(*answers), _YES)
    for name in set(_LABELS.values()) & set(table.column_names):
        value = pc.if_else(binds, table[name], pa.scalar(None, pa.string()))
        table = table.set_column(table.column_names.index(name), name, value)
    return chains_of_pairs(table, _2022 if "TRA_CDR3" in table.column_names else _2023, labels=_LABELS)
