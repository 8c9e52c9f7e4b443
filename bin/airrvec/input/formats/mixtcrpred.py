"""
Receptors and peptides of predictors: MixTCRpred's training set, and tables as of tcr-pmhc-analyzer.

``binder`` is 1 for a binder, and a table without it has binders only. Other rows were mostly paired with the
peptide at random; they are not used as labels.
"""

from airrvec.input.formats.chains import chains_of_pairs, column

import pyarrow as pa
import pyarrow.compute as pc

NAME = "mixtcrpred"
TITLE = "MixTCRpred or tcr-pmhc-analyzer"
ROW = "pair"
DELIMITER = None

_MIXTCRPRED = {
    "TRA": {"v_call": "TRAV", "j_call": "TRAJ", "junction_aa": "cdr3_TRA"},
    "TRB": {"v_call": "TRBV", "j_call": "TRBJ", "junction_aa": "cdr3_TRB"},
}
_ANALYZER = {
    "TRA": {"v_call": "va", "j_call": "ja", "junction_aa": "cdr3a"},
    "TRB": {"v_call": "vb", "j_call": "jb", "junction_aa": "cdr3b"},
}
# Label → its column in both.
_LABELS = {
    "epitope": ("epitope", "peptide"),
    "antigen_gene": ("protein", "protein"),
    "mhc_class": ("MHC_class", "mhc_class"),
    "mhc_a": ("MHC", "mhc"),
}
_SPECIES = ("species", "organism")
_YES = pa.array(["1", "1.0", "True", "true"])

LAYOUTS = (
    tuple(name for names in _MIXTCRPRED.values() for name in names.values()),
    (*(name for names in _ANALYZER.values() for name in names.values()), "peptide"),
)
OPTIONAL = (*dict.fromkeys(name for names in (*_LABELS.values(), _SPECIES) for name in names), "binder")


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row, labelled unless the receptor is no binder; several MHC are one text."""
    is_analyzer = "peptide" in table.column_names
    labels = {label: names[is_analyzer] for label, names in _LABELS.items()}
    if "binder" in table.column_names:
        binds = pc.is_in(column(table, "binder"), _YES)
        for name in {*labels.values()} & {*table.column_names}:
            value = pc.if_else(binds, table[name], pa.scalar(None, pa.string()))
            table = table.set_column(table.column_names.index(name), name, value)
    species = _SPECIES[is_analyzer]
    return chains_of_pairs(table, _ANALYZER if is_analyzer else _MIXTCRPRED, species=species, labels=labels)
