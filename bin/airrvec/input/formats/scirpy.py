"""
scirpy cells in AnnData or MuData: chains in ``obsm["airr"]``, or in ``obs`` before version 0.13; and
tables of ``obs``, as written by ``adata.obs.to_csv()``.
"""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.input.files.anndata_table import OBS_NAMES
from airrvec.input.formats.chains import (
    any_valid,
    booleans,
    chain_table,
    column,
    counts,
    junctions,
    kept_fields,
)

NAME = "scirpy"
TITLE = "scirpy's AnnData, MuData or table of cells"
DELIMITER = None

_CHAIN = "obsm/airr/{}"
_CHAINS = tuple(f"{arm}_{rank}" for arm in ("VJ", "VDJ") for rank in (1, 2))
_NEEDED = ("v_call", "j_call", "junction_aa")
_FIRST = ("v_gene", "j_gene", "cdr3")  # before version 0.7
_FLAGS = ("productive", "is_cell", "high_confidence")
_USED = (
    *("sequence_id", "cdr3_aa", "locus", "duplicate_count", "consensus_count", "umi_count", "expr"),
    *_FLAGS,
    *(name for name in schema.KEPT_FIELDS if name != "sequence_id"),
)
_CELL_FIELDS = (*_FLAGS, "species", *schema.LABELS)
# Prefixes of chain columns outside obsm: in obs of AnnData, in a table of obs, in a table of `get.airr`.
_PLACES = ("obs/IR_", "IR_", "")
# Columns with the names of cells; pandas writes its index without a name.
_NAMES = (OBS_NAMES, "cell_id", "barcode", "")


def _columns(place: str, chains: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{place}{chain}_{name}" for chain in chains for name in names)


LAYOUTS = (
    (OBS_NAMES, *(_CHAIN.format(name) for name in _NEEDED)),
    (OBS_NAMES, *_columns("obs/IR_", _CHAINS[::2], (*_NEEDED, "locus"))),
    *(_columns(place, _CHAINS[::2], names) for place in _PLACES[1:] for names in (_NEEDED, _FIRST)),
)
OPTIONAL = (
    *(_CHAIN.format(name) for name in (*_NEEDED, *_USED)),
    *(name for place in _PLACES for name in _columns(place, _CHAINS, (*_NEEDED, *_FIRST, *_USED))),
    *(f"{place}{name}" for place in ("obs/", "") for name in _CELL_FIELDS),
    *_NAMES,
)


def chains(table: pa.Table) -> pa.Table:
    """Return all chains of a cell; every observation is a cell, even if names repeat."""
    if _CHAIN.format("junction_aa") in table.column_names:
        return _chains(table, _CHAIN, "obs/", _NEEDED)
    present = set(table.column_names)
    place, names = next(
        (place, names)
        for place in _PLACES
        for names in (_NEEDED, _FIRST)
        if present.issuperset(_columns(place, _CHAINS[::2], names))
    )
    cell_prefix = "obs/" if place.startswith("obs/") else ""
    parts = [_chains(table, place + chain + "_{}", cell_prefix, names) for chain in _CHAINS]
    return pa.concat_tables(parts).sort_by("row")


def _chains(table: pa.Table, place: str, cell_prefix: str, names: tuple[str, ...]) -> pa.Table:
    def chain_column(name: str) -> pa.ChunkedArray:
        return column(table, place.format(name))

    v_call, j_call, junction = names
    fields = {"v_call": chain_column(v_call), "j_call": chain_column(j_call)}
    fields |= junctions(table, place.format(junction), place.format("cdr3_aa"))
    flags = {
        name: booleans(pc.coalesce(chain_column(name), column(table, cell_prefix + name))) for name in _FLAGS
    }
    labels = {name: column(table, cell_prefix + name) for name in ("species", *schema.LABELS)}
    chains = chain_table(
        row=table["row"],
        cell_key=table["row"].cast(pa.string()),
        chain_key=chain_column("sequence_id"),
        cell_id=column(table, next((name for name in _NAMES if name in table.column_names), None)),
        locus=chain_column("locus"),
        duplicate_count=counts(
            pc.coalesce(
                chain_column("duplicate_count"), chain_column("consensus_count"), chain_column("expr")
            )
        ),
        umi_count=counts(chain_column("umi_count")),
        **fields,
        **flags,
        **labels,
        **kept_fields(table, {name: place.format(name) for name in (*schema.KEPT_FIELDS, "consensus_count")}),
    )
    return chains if place == _CHAIN else chains.filter(any_valid(*(fields[name] for name in _NEEDED)))
