"""VDJdb: its full table (both chains in a row) and the export of its web page (one chain a row)."""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.readers._chains import chain_table, chains_of_pairs, column

NAME = "vdjdb"
TITLE = "VDJdb full table or web export"
DELIMITER = "\t"

_FULL = {
    "TRA": {"v_call": "v.alpha", "j_call": "j.alpha", "junction_aa": "cdr3.alpha"},
    "TRB": {"v_call": "v.beta", "j_call": "j.beta", "junction_aa": "cdr3.beta"},
}
_FULL_LABELS = {
    "epitope": "antigen.epitope",
    "antigen_gene": "antigen.gene",
    "antigen_species": "antigen.species",
    "mhc_class": "mhc.class",
    "mhc_a": "mhc.a",
    "mhc_b": "mhc.b",
    "reference_id": "reference.id",
    "split": "split",
}
_EXPORT_LABELS = {
    "epitope": "Epitope",
    "antigen_gene": "Epitope gene",
    "antigen_species": "Epitope species",
    "mhc_class": "MHC class",
    "mhc_a": "MHC A",
    "mhc_b": "MHC B",
    "reference_id": "Reference",
    "split": "split",
}
_EXPORT = ("complex.id", "Gene", "CDR3", "V", "J", "Species", "Epitope")

LAYOUTS = (tuple(name for names in _FULL.values() for name in names.values()), _EXPORT)
OPTIONAL = ("species", "meta.clone.id", *_FULL_LABELS.values(), *_EXPORT_LABELS.values())


def chains(table: pa.Table) -> pa.Table:
    """Both chains of a row, or of the two rows that share a ``complex.id`` other than 0."""
    if "complex.id" not in table.column_names:
        return chains_of_pairs(table, _FULL, cell_id="meta.clone.id", species="species", labels=_FULL_LABELS)
    complex_id = column(table, "complex.id")
    paired = pc.if_else(pc.equal(complex_id, "0"), pa.scalar(None, pa.string()), complex_id)
    return chain_table(
        row=table["row"],
        cell_key=paired,
        cell_id=paired,
        species=column(table, "Species"),
        locus=column(table, "Gene"),
        v_call=column(table, "V"),
        j_call=column(table, "J"),
        junction_aa=column(table, "CDR3"),
        **{label: column(table, name) for label, name in _EXPORT_LABELS.items()},
    )
