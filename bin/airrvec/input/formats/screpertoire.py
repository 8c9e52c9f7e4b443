"""
scRepertoire's tables of cells: of ``combineTCR``, and metadata to which ``combineExpression`` adds them.

A cell has genes such as ``TRAV1-2.TRAJ33.TRAC_TRBV6-4.None.TRBJ2-1.TRBC2`` and junctions ``CAVF_CASSF``;
several chains of a locus are separated by ``;``.
"""

from airrvec.input.formats.chains import aligned, cell_keys, chain_table, entries, flat, taken
from airrvec.input.roles import Roles
from airrvec.input.values import trimmed

import pyarrow as pa
import pyarrow.compute as pc

NAME = "screpertoire"
TITLE = "scRepertoire"
ROW = "cell"
DELIMITER = None
# Genes and junctions of the α chains, and of the β chains.
_ARMS = (("TCR1", "cdr3_aa1"), ("TCR2", "cdr3_aa2"))
_BOTH = ("CTgene", "CTaa")
_GENE = r"(?P<gene>TR[A-D]{}[^.]*)"

LAYOUTS = (("barcode", *_ARMS[0], *_ARMS[1]), _BOTH)
OPTIONAL = ("barcode", "", "X")
ROLES = {"cell": ("barcode", "cell_id", "cell_barcode", "cell", "", "X")}  # R writes row names without a name


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a cell."""
    table = table.append_column("key", cell_keys(table, roles.cells(table), roles.samples))
    if not set(table.column_names).issuperset(LAYOUTS[0]):
        table = _with_arms(table)
    return pa.concat_tables([_chains(table, roles, arm) for arm in _ARMS]).sort_by("row")


def _with_arms(table: pa.Table) -> pa.Table:
    """Return the table with columns of each arm, from those of both: ``α_β``."""
    table = table.drop_columns([name for arm in _ARMS for name in arm if name in table.column_names])
    for side, name in enumerate(_BOTH):
        halves = pc.extract_regex(table[name], r"^(?P<first>[^_]*)_(?P<second>[^_]*)$")
        for arm, half in zip(_ARMS, ("first", "second"), strict=True):
            table = table.append_column(arm[side], pc.struct_field(halves, half))
    return table


def _chains(table: pa.Table, roles: Roles, arm: tuple[str, str]) -> pa.Table:
    genes_name, junction_name = arm
    table = table.filter(pc.is_valid(trimmed(table[junction_name])))
    junctions = entries(table, junction_name)
    at = pc.list_parent_indices(junctions)
    genes = aligned(table, genes_name, pc.list_value_length(junctions))
    fields = {name: taken(values, at) for name, values in roles.read(table).items()}
    return chain_table(
        row=taken(table["row"], at),
        cell_key=taken(table["key"], at),
        cell_id=taken(roles.cells(table), at),
        junction_aa=flat(pc.list_flatten(junctions)),
        **{f"{segment.lower()}_call": _gene(genes, segment) for segment in "VJ"},
        **fields,
    )


def _gene(genes: pa.ChunkedArray, segment: str) -> pa.ChunkedArray:
    return pc.struct_field(pc.extract_regex(genes, _GENE.format(segment)), "gene")
