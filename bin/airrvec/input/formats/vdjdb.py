"""
VDJdb tables: the full table (both chains in one row), and tables with one chain per row: the export of the
web page, and ``vdjdb.txt`` and ``vdjdb.slim.txt`` of a release.
"""

import re

from airrvec.input.formats.chains import cell_keys, chain_table, chains_of_pairs, column

import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = (
    "method.identification",
    "method.frequency",
    "method.singlecell",
    "method.sequencing",
    "method.verification",
    "meta.structure.id",
)
MAX_SCORE = 3

_SORTED = re.compile("sort|beads|separation|stain")
_STIMULATED = re.compile("targets")
_CULTURED = re.compile("culture|cloning")
# Kind of identification → frequency of the receptor among the identified cells from which it is believed.
_ENOUGH = ((_CULTURED, 0.5), (_SORTED, 0.05), (_STIMULATED, 0.25))
_FRACTION = re.compile(r"([0-9.]+)/+([0-9.]+)")


def confidence(table: pa.Table) -> pa.ChunkedArray:
    """
    Return the score of each record as text, from 0 (critical information is missing) to 3 (very high).

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings, of which `COLUMNS` are read.

    Returns
    -------
    pyarrow.ChunkedArray of string
        Null everywhere if the table has none of `COLUMNS`.
    """
    if not set(COLUMNS) & set(table.column_names):
        return pa.chunked_array([pa.nulls(len(table), pa.string())])
    rows = zip(*(pc.fill_null(column(table, name), "").to_pylist() for name in COLUMNS), strict=True)
    return pa.chunked_array([pa.array([str(score(*row)) for row in rows], pa.string())])


def score(
    identification: str, frequency: str, singlecell: str, sequencing: str, verification: str, structure: str
) -> int:
    """
    Return the score of a record: the smaller of the certainty of the sequence and that of the specificity.

    A record with a structure has the highest score. The sequence is certain if it is of single cells, of a
    verified clone, of two or more cells by Sanger sequencing, or of at least 1 % of the reads of an amplicon.
    The specificity gains a point if the receptor is frequent among the cells that the antigen selected, and
    up to three by a verification: 3 if binding was observed directly, 2 by target cells, 1 by another stain.

    Parameters
    ----------
    identification, frequency, singlecell, sequencing, verification, structure : str
        `COLUMNS`; empty if not given. A frequency that is no number counts as not given.
    """
    if structure:
        return MAX_SCORE
    identification, verification = identification.lower(), verification.lower()
    n_cells, share = _frequency(frequency)
    limit = next((limit for kind, limit in _ENOUGH if kind.search(identification)), None)
    specificity = int(limit is not None and share >= limit)
    sequence = _sequence(singlecell.lower(), sequencing.lower(), n_cells, share)
    if "direct" in verification:
        specificity += 3
    elif _STIMULATED.search(verification):
        specificity, sequence = specificity + 2, MAX_SCORE
    elif _SORTED.search(verification):
        specificity, sequence = specificity + 1, MAX_SCORE
    return min(sequence, specificity)


def _sequence(singlecell: str, sequencing: str, n_cells: float, share: float) -> int:
    if singlecell and singlecell != "no":
        return MAX_SCORE
    if sequencing == "sanger":
        return MAX_SCORE if n_cells >= 2 else 2
    return MAX_SCORE if sequencing == "amplicon-seq" and share >= 0.01 else 1


def _frequency(text: str) -> tuple[float, float]:
    """Return cells and share of a frequency such as ``3/27``, ``11%`` or ``0.11``; zeros if it is neither."""
    fraction = _FRACTION.fullmatch(text.strip())
    try:
        if fraction:
            n_cells, n = float(fraction[1]), float(fraction[2])
            return (n_cells, n_cells / n) if n else (0.0, 0.0)
        return 0.0, float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        return 0.0, 0.0


# --- The tables

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
    *COLUMNS,
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
        from_json = pc.struct_field(pc.extract_regex(json, f'"{name}": *"(?P<value>[^"]*)"'), "value")
        parts.append(pc.coalesce(column(table, f"method.{name}"), from_json))
    joined = pc.utf8_trim(
        pc.binary_join_element_wise(*(pc.fill_null(part, "") for part in parts), ";"), characters=";"
    )
    return pc.if_else(pc.equal(joined, ""), pa.scalar(None, pa.string()), joined)


def _with_score(table: pa.Table) -> pa.Table:
    """Return the table with VDJdb's score, computed where it is not given."""
    name = _FULL_LABELS["confidence"]
    scores = pc.coalesce(column(table, name), confidence(table))
    rest = table.drop_columns([name]) if name in table.column_names else table
    return rest.append_column(name, scores)
