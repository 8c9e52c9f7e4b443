"""
Parse Biosciences ``barcode_report.tsv`` of T cells: one cell per row, up to two α and two β chains.

``…_annotation_airr.tsv`` files are read as `airr`.
"""

from airrvec.input.formats.chains import chains_by_prefix, names_with_prefixes
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "parse"
TITLE = "Parse Biosciences barcode report"
ROW = "cell"
DELIMITER = "\t"

_LOCI = ("TRA", "TRB")
PREFIXES = {f"{rank}{locus}_": locus for locus in _LOCI for rank in ("", "secondary_")}
_FIELDS: dict[str, tuple[str, ...]] = {"v_call": ("V",), "j_call": ("J",), "junction_aa": ("cdr3_aa",)}
# Counts of version 1.0 and of later ones.
ROLES = {
    "cell": ("Barcode",),
    "UMIs": ("…transcript_count", "…transcript_support"),
    "reads": ("…read_count", "…read_support"),
}

LAYOUTS = (("Barcode", *(f"{locus}_{name}" for locus in _LOCI for (name,) in _FIELDS.values())),)
OPTIONAL = tuple(names_with_prefixes(PREFIXES, _FIELDS, ROLES))


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a cell; a chain without genes and CDR3 is excluded."""
    return chains_by_prefix(table, roles, PREFIXES, _FIELDS)
