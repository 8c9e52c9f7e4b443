"""
Parse Biosciences ``barcode_report.tsv`` of T cells: one cell per row, up to two α and two β chains.

``…_annotation_airr.tsv`` files are read as `airr`.
"""

import pyarrow as pa

from airrvec.input.formats.chains import SAMPLE_COLUMNS, any_valid, cell_keys, chain_table, column, counts

NAME = "parse"
TITLE = "Parse Biosciences barcode report"
DELIMITER = "\t"

_LOCI = ("TRA", "TRB")
_CHAINS = tuple((locus, f"{rank}{locus}") for locus in _LOCI for rank in ("", "secondary_"))
_FIELDS = {"v_call": "V", "j_call": "J", "junction_aa": "cdr3_aa"}
_COUNTS = {"duplicate_count": "read_count", "umi_count": "transcript_count"}

LAYOUTS = (("Barcode", *(f"{locus}_{name}" for locus in _LOCI for name in _FIELDS.values())),)
OPTIONAL = (
    *(f"{chain}_{name}" for _, chain in _CHAINS for name in (*_FIELDS.values(), *_COUNTS.values())),
    *SAMPLE_COLUMNS,
)


def chains(table: pa.Table) -> pa.Table:
    """Return all chains of a cell; a chain without genes and CDR3 is excluded."""
    barcode = column(table, "Barcode")
    parts = []
    for locus, chain in _CHAINS:
        fields = {field: column(table, f"{chain}_{name}") for field, name in _FIELDS.items()}
        numbers = {field: counts(column(table, f"{chain}_{name}")) for field, name in _COUNTS.items()}
        part = chain_table(
            row=table["row"],
            cell_key=cell_keys(table, barcode),
            chain_key=pa.chunked_array([pa.repeat(chain, len(table))]),
            cell_id=barcode,
            locus=pa.chunked_array([pa.repeat(locus, len(table))]),
            **fields,
            **numbers,
        )
        parts.append(part.filter(any_valid(*fields.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending")])
