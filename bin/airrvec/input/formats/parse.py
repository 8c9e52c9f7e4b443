"""
Parse Biosciences' ``barcode_report.tsv`` of T cells: a cell a row, two α and two β chains.

Its ``…_annotation_airr.tsv`` is read as `airr`.
"""

import pyarrow as pa

from airrvec.input.formats.chains import SAMPLES, any_known, cell_keys, chain_table, column, counts

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
    *SAMPLES,
)


def chains(table: pa.Table) -> pa.Table:
    """All chains of a cell; one is left out where its genes and CDR3 are empty."""
    barcode = column(table, "Barcode")
    parts = []
    for locus, chain in _CHAINS:
        fields = {ours: column(table, f"{chain}_{name}") for ours, name in _FIELDS.items()}
        numbers = {ours: counts(column(table, f"{chain}_{name}")) for ours, name in _COUNTS.items()}
        part = chain_table(
            row=table["row"],
            cell_key=cell_keys(table, barcode),
            chain_key=pa.chunked_array([pa.repeat(chain, len(table))]),
            cell_id=barcode,
            locus=pa.chunked_array([pa.repeat(locus, len(table))]),
            **fields,
            **numbers,
        )
        parts.append(part.filter(any_known(*fields.values())))
    return pa.concat_tables(parts).sort_by([("row", "ascending")])
