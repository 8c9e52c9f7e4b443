"""
scirpy cells in AnnData or MuData: chains in ``obsm["airr"]``, or in ``obs`` before version 0.13; and
tables of ``obs``, as written by ``adata.obs.to_csv()``.
"""

from airrvec.core import schema
from airrvec.input.files.anndata_table import OBS_NAMES
from airrvec.input.formats import iggytop
from airrvec.input.formats.chains import airr_counts, any_valid, chain_table, column, junctions, kept_fields
from airrvec.input.roles import Roles, choose

import pyarrow as pa

NAME = "scirpy"
TITLE = "scirpy's AnnData, MuData or table of cells"
ROW = "cell"
DELIMITER = None

_CHAIN = "obsm/airr/{}"
_CHAINS = tuple(f"{arm}_{rank}" for arm in ("VJ", "VDJ") for rank in (1, 2))
_NEEDED = ("v_call", "j_call", "junction_aa")
_FIRST = ("v_gene", "j_gene", "cdr3")  # before version 0.7
_COUNTS = ("umi_count", "duplicate_count", "consensus_count", "expr")
_FLAGS = ("productive", "is_cell", "high_confidence")
_USED = (
    *("sequence_id", "cdr3_aa", "locus", "duplicate_count", "consensus_count", "umi_count", "expr"),
    *_FLAGS,
    *(name for name in schema.KEPT_FIELDS if name != "sequence_id"),
)
# Field of a cell → its names: ours, then IggyTop's.
_IGGYTOP = iggytop.LABELS | {"species": iggytop.SPECIES}
_CELL_NAMES = {name: (name, _IGGYTOP.get(name, name)) for name in ("species", *schema.LABELS)}
_CELL_FIELDS = (*_FLAGS, *dict.fromkeys(name for names in _CELL_NAMES.values() for name in names))
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


# In tables before version 0.16, `duplicate_count` has another unit (`airr_counts`).
ROLES = {
    "UMIs": ("…umi_count",),
    "reads": ("…consensus_count", "…expr"),
    "copies": ("…duplicate_count",),
}


def roles(table: pa.Table) -> Roles:
    """Return the columns of counts and flags of each chain; a flag may be that of the cell."""
    places, cell_prefix, _ = _layout(table)
    flaws = choose(table, flags={}).flaws  # of the cell
    return Roles(flaws=flaws, parts={place: _roles(table, place, cell_prefix) for place in places})


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a cell; every observation is a cell, even if names repeat."""
    places, cell_prefix, names = _layout(table)
    parts = [_chains(table, place, cell_prefix, names, roles) for place in places]
    return pa.concat_tables(parts).sort_by("row")


def _layout(table: pa.Table) -> tuple[list[str], str, tuple[str, ...]]:
    """Return the places of the chains' columns, the prefix of a cell's columns, names as in `_NEEDED`."""
    present = set(table.column_names)
    if _CHAIN.format("junction_aa") in present:
        return [_CHAIN], "obs/", _NEEDED
    place, names = next(
        (place, names)
        for place in _PLACES
        for names in (_NEEDED, _FIRST)
        if present.issuperset(_columns(place, _CHAINS[::2], names))
    )
    places = [place + chain + "_{}" for chain in _CHAINS]
    return places, "obs/" if place.startswith("obs/") else "", names


def _roles(table: pa.Table, place: str, cell_prefix: str) -> Roles:
    held = [name for name in (*_COUNTS, "is_cell") if place.format(name) in table.column_names]
    if cell_prefix + "is_cell" in table.column_names:
        held.append("is_cell")
    airr_names = airr_counts(held) if set(held) - {"expr", "is_cell"} else {"reads": ("expr",)}
    counts = {unit: [place.format(name) for name in names] for unit, names in airr_names.items()}
    flags = {
        name: [at for at in (place.format(name), cell_prefix + name) if at in table.column_names][:1]
        for name in _FLAGS
    }
    return choose(table, flags=flags, flaws=(), **counts)


def _chains(table: pa.Table, place: str, cell_prefix: str, names: tuple[str, ...], roles: Roles) -> pa.Table:
    def chain_column(name: str) -> pa.ChunkedArray:
        return column(table, place.format(name))

    v_call, j_call, junction = names
    fields = {"v_call": chain_column(v_call), "j_call": chain_column(j_call)}
    fields |= junctions(table, place.format(junction), place.format("cdr3_aa"))
    labels = {field: _cell_label(table, cell_prefix, names) for field, names in _CELL_NAMES.items()}
    chains = chain_table(
        row=table["row"],
        cell_key=table["row"].cast(pa.string()),
        chain_key=chain_column("sequence_id"),
        cell_id=column(table, next((name for name in _NAMES if name in table.column_names), None)),
        locus=chain_column("locus"),
        **roles.parts[place].read(table),
        **roles.read(table),
        **fields,
        **labels,
        **kept_fields(table, {name: place.format(name) for name in (*schema.KEPT_FIELDS, "consensus_count")}),
    )
    return chains if place == _CHAIN else chains.filter(any_valid(*(fields[name] for name in _NEEDED)))


def _cell_label(table: pa.Table, prefix: str, names: tuple[str, ...]) -> pa.ChunkedArray:
    """Return the first column of a cell that the table has."""
    name = next((prefix + name for name in names if prefix + name in table.column_names), None)
    if name is not None and name == prefix + iggytop.LABELS["reference_id"]:
        return iggytop.studies(table, name)
    return column(table, name)
