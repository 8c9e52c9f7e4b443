"""
scirpy's cells in AnnData or MuData: chains in ``obsm["airr"]``, or in ``obs`` as before version 0.13.
"""

import pyarrow as pa
import pyarrow.compute as pc

from airrvec import schema
from airrvec.readers._anndata import OBS_NAMES
from airrvec.readers._chains import any_known, booleans, chain_table, column, counts

NAME = "scirpy"
TITLE = "scirpy's AnnData or MuData"
DELIMITER = None

_CHAIN = "obsm/airr/{}"
_OLD_CHAINS = tuple(f"obs/IR_{arm}_{rank}_" + "{}" for arm in ("VJ", "VDJ") for rank in (1, 2))
_NEEDED = ("v_call", "j_call", "junction_aa")
_FLAGS = ("productive", "is_cell", "high_confidence")
_USED = ("locus", "duplicate_count", "consensus_count", "umi_count", *_FLAGS)
_OF_CELL = (*_FLAGS, "species", *schema.LABELS)

LAYOUTS = (
    (OBS_NAMES, *(_CHAIN.format(name) for name in _NEEDED)),
    (OBS_NAMES, *(_OLD_CHAINS[first].format(name) for first in (0, 2) for name in (*_NEEDED, "locus"))),
)
OPTIONAL = (
    *(chain.format(name) for chain in (_CHAIN, *_OLD_CHAINS) for name in (*_NEEDED, *_USED)),
    *(f"obs/{name}" for name in _OF_CELL),
)


def chains(table: pa.Table) -> pa.Table:
    """All chains of a cell; an observation is a cell, even if another one has its name."""
    if _CHAIN.format("junction_aa") in table.column_names:
        return _chains(table, _CHAIN)
    return pa.concat_tables(_chains(table, chain) for chain in _OLD_CHAINS).sort_by("row")


def _chains(table: pa.Table, place: str) -> pa.Table:
    def of_chain(name: str) -> pa.ChunkedArray:
        return column(table, place.format(name))

    fields = {name: of_chain(name) for name in _NEEDED}
    flags = {name: booleans(pc.coalesce(of_chain(name), column(table, f"obs/{name}"))) for name in _FLAGS}
    labels = {name: column(table, f"obs/{name}") for name in ("species", *schema.LABELS)}
    chains = chain_table(
        row=table["row"],
        cell_key=table["row"].cast(pa.string()),
        cell_id=column(table, OBS_NAMES),
        locus=of_chain("locus"),
        duplicate_count=counts(pc.coalesce(of_chain("duplicate_count"), of_chain("consensus_count"))),
        umi_count=counts(of_chain("umi_count")),
        **fields,
        **flags,
        **labels,
    )
    return chains if place == _CHAIN else chains.filter(any_known(*fields.values()))
