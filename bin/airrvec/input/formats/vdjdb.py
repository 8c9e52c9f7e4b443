"""
VDJdb tables: the full table (both chains in one row), and tables with one chain per row: the export of the
web page, and ``vdjdb.txt`` and ``vdjdb.slim.txt`` of a release.
"""

from airrvec.input import vdjdb_confidence
from airrvec.input.formats.chains import cell_keys, chain_table, chains_of_pairs, column

import pyarrow as pa
import pyarrow.compute as pc

NAME = "vdjdb"
TITLE = "VDJdb full table, web export or release"
ROW = "pair"
DELIMITER = "\t"

# Name of the column, made here, with both methods of a record, joined by `;`.
_METHOD = "airrvec.method"
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
    "confidence": "vdjdb.score",
    "label_method": _METHOD,
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
    "confidence": "Score",
    "label_method": _METHOD,
    "split": "split",
}
# Columns equal in both chains of a record; releases and joined exports may use a complex.id again.
_SHARED = ("Species", "Epitope", "Reference", "species", "antigen.epitope", "reference.id")
# Field → column.
_EXPORT = {"locus": "Gene", "junction_aa": "CDR3", "v_call": "V", "j_call": "J", "species": "Species"}
_RELEASE = {
    "locus": "gene",
    "junction_aa": "cdr3",
    "v_call": "v.segm",
    "j_call": "j.segm",
    "species": "species",
}

LAYOUTS = (
    tuple(name for names in _FULL.values() for name in names.values()),
    ("complex.id", *_EXPORT.values(), "Epitope"),
    ("complex.id", *_RELEASE.values(), "antigen.epitope"),
)
OPTIONAL = (
    *("species", "meta.clone.id", "method", "Method"),
    *(name for names in (_FULL_LABELS, _EXPORT_LABELS) for name in names.values() if name != _METHOD),
    *vdjdb_confidence.COLUMNS,
)


def chains(table: pa.Table) -> pa.Table:
    """Return both chains of a row, or of the two rows with one ``complex.id`` other than 0."""
    table = table.select([name for name in table.column_names if name != _METHOD])
    table = table.append_column(_METHOD, _methods(table))
    if "complex.id" not in table.column_names:
        table = _with_score(table)
        return chains_of_pairs(table, _FULL, cell_id="meta.clone.id", species="species", labels=_FULL_LABELS)
    fields, labels = (_EXPORT, _EXPORT_LABELS) if "CDR3" in table.column_names else (_RELEASE, _FULL_LABELS)
    # A row of the slim table may belong to several complexes ("0,12,15"), so its partner chain is unknown.
    complex_id = column(table, "complex.id")
    one = pc.and_(pc.not_equal(complex_id, "0"), pc.invert(pc.match_substring(complex_id, ",")))
    paired = pc.if_else(one, complex_id, pa.scalar(None, pa.string()))
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, paired, _SHARED),
        cell_id=paired,
        **{field: column(table, name) for field, name in fields.items()},
        **{label: column(table, name) for label, name in labels.items()},
    )


def _methods(table: pa.Table) -> pa.ChunkedArray:
    """Return the methods of identification and verification of each record, joined by ``;``; null if none."""
    parts = []
    for name in ("identification", "verification"):
        # Releases and exports hold all methods of a record in one JSON object.
        json = pc.coalesce(column(table, "method"), column(table, "Method"))
        found = pc.struct_field(pc.extract_regex(json, f'"{name}": *"(?P<value>[^"]*)"'), "value")
        parts.append(pc.coalesce(column(table, f"method.{name}"), found))
    joined = pc.utf8_trim(
        pc.binary_join_element_wise(*(pc.fill_null(part, "") for part in parts), ";"), characters=";"
    )
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _with_score(table: pa.Table) -> pa.Table:
    """Return the table with VDJdb's score, computed where it is not given."""
    name = _FULL_LABELS["confidence"]
    scores = pc.coalesce(column(table, name), vdjdb_confidence.confidence(table))
    rest = table.drop_columns([name]) if name in table.column_names else table
    return rest.append_column(name, scores)
