"""
TRUST4 ``…_barcode_report.tsv``: one cell per row, one chain per column.

``…_airr.tsv`` and ``…_barcode_airr.tsv`` files are read as `airr`.
"""

from dataclasses import replace

from airrvec.input.formats.chains import cell_keys, chain_table, column, split_cells
from airrvec.input.role_names import READS_PART
from airrvec.input.roles import Roles, choose

import pyarrow as pa
import pyarrow.compute as pc

NAME = "trust4"
TITLE = "TRUST4 barcode report"
ROW = "cell"
DELIMITER = "\t"
_COLUMNS = ("chain1", "chain2", "secondary_chain1", "secondary_chain2")

LAYOUTS = (("barcode", "cell_type", "chain1", "chain2"),)
OPTIONAL = _COLUMNS[2:]
ROLES = {"cell": ("barcode",), "reads": tuple(f"{name}|{READS_PART}" for name in _COLUMNS)}

# V, D, J, C, nucleotides of the CDR3, its amino acids, reads, contig; further fields are not used.
_CHAIN = (
    r"^(?P<v>[^,]*),(?P<d>[^,]*),(?P<j>[^,]*),(?P<c>[^,]*),(?P<nt>[^,]*),(?P<aa>[^,]*),[^,]*"
    r"(?:,(?P<contig>[^,]*))?"
)
_NOTHING = pa.array(["", "*", "partial"])


def roles(table: pa.Table) -> Roles:
    """Return the columns of cell and flags, and the reads inside each column of chains."""
    parts = {
        name: Roles(counts={"duplicate_count": inside}, units={"duplicate_count": "reads"})
        for name, inside in zip(_COLUMNS, ROLES["reads"], strict=True)
        if name in table.column_names
    }
    return replace(choose(table, cell=ROLES["cell"]), parts=parts)


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a cell; ``*`` means none, and semicolons separate secondary chains."""
    parts = [_column_chains(table, name, roles) for name in roles.parts]
    return pa.concat_tables(parts).sort_by([("row", "ascending")])


def _column_chains(table: pa.Table, name: str, roles: Roles) -> pa.Table:
    flags = [*roles.flags.values(), *roles.flaws]
    texts, rows = split_cells(table, name, ["row", "barcode", *roles.samples, *flags])
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
        cell_key=cell_keys(rows, barcode, roles.samples),
        chain_key=field("contig"),
        cell_id=barcode,
        locus=pc.coalesce(*(pc.utf8_slice_codeunits(field(gene), 0, 3) for gene in ("v", "j", "c"))),
        v_call=field("v"),
        j_call=field("j"),
        junction_aa=field("aa"),
        **roles.parts[name].read(rows.append_column(name, pa.chunked_array([texts]))),
        **roles.read(rows),
        sequence_id=field("contig"),
        d_call=field("d"),
        c_call=field("c"),
        junction=field("nt"),
    )
    return chains.filter(known)
