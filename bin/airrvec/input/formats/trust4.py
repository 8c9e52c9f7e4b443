"""
TRUST4 ``…_barcode_report.tsv``: one cell per row, one chain per column.

``…_airr.tsv`` and ``…_barcode_airr.tsv`` files are read as `airr`.
"""

from airrvec.input.formats.chains import SAMPLE_COLUMNS, cell_keys, chain_table, column, split_cells
from airrvec.input.roles import Roles
from airrvec.input.values import counts

import pyarrow as pa
import pyarrow.compute as pc

NAME = "trust4"
TITLE = "TRUST4 barcode report"
ROW = "cell"
DELIMITER = "\t"
_COLUMNS = ("chain1", "chain2", "secondary_chain1", "secondary_chain2")

LAYOUTS = (("barcode", "cell_type", "chain1", "chain2"),)
OPTIONAL = (*_COLUMNS[2:], *SAMPLE_COLUMNS)
ROLES = {"cell": ("barcode",)}

# V, D, J, C, nucleotides of the CDR3, its amino acids, reads, contig; further fields are not used.
_CHAIN = (
    r"^(?P<v>[^,]*),(?P<d>[^,]*),(?P<j>[^,]*),(?P<c>[^,]*),(?P<nt>[^,]*),(?P<aa>[^,]*),(?P<reads>[^,]*)"
    r"(?:,(?P<contig>[^,]*))?"
)
_NOTHING = pa.array(["", "*", "partial"])


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a cell; ``*`` means none, and semicolons separate secondary chains."""
    parts = [_column_chains(table, name, roles) for name in _COLUMNS]
    return pa.concat_tables(parts).sort_by([("row", "ascending")])


def _column_chains(table: pa.Table, name: str, roles: Roles) -> pa.Table:
    _, flags = roles.numbers_and_truths()
    samples = [name for name in SAMPLE_COLUMNS if name in table.column_names]
    texts, rows = split_cells(table, name, ["row", "barcode", *samples, *flags])
    fields = pc.extract_regex(texts, _CHAIN)
    known = pc.invert(pc.is_in(pc.utf8_trim_whitespace(texts), _NOTHING))

    def field(part: str) -> pa.ChunkedArray:
        values = pc.struct_field(fields, part)
        return pa.chunked_array(
            [pc.if_else(pc.is_in(values, _NOTHING), pa.scalar(None, pa.string()), values)]
        )

    barcode = column(rows, "barcode")
    chains = chain_table(
        row=rows["row"],
        cell_key=cell_keys(rows, barcode),
        chain_key=field("contig"),
        cell_id=barcode,
        locus=pc.coalesce(*(pc.utf8_slice_codeunits(field(gene), 0, 3) for gene in ("v", "j", "c"))),
        v_call=field("v"),
        j_call=field("j"),
        junction_aa=field("aa"),
        duplicate_count=counts(field("reads")),
        **roles.read(rows),
        sequence_id=field("contig"),
        d_call=field("d"),
        c_call=field("c"),
        junction=field("nt"),
    )
    return chains.filter(known)
