"""MiXCR tables of clones (``exportClones``), with current headers or headers before version 3."""

from collections.abc import Iterable

from airrvec.input.formats.chains import cell_keys, chain_table, first_value
from airrvec.input.role_names import FLAGS
from airrvec.input.roles import Roles, choose

import pyarrow as pa
import pyarrow.compute as pc

NAME = "mixcr"
TITLE = "MiXCR exportClones"
ROW = "chain"
DELIMITER = "\t"

_HITS = (
    ("allVHitsWithScore", "allJHitsWithScore"),
    ("allVHits", "allJHits"),
    ("bestVHit", "bestJHit"),
    ("bestVGene", "bestJGene"),
)
_OLD_HITS = (("All V hits", "All J hits"), ("Best V hit", "Best J hit"))
_JUNCTION = "aaSeqCDR3"
_OLD_JUNCTIONS = ("AA. Seq. CDR3", "AA. seq. CDR3")
_READS = ("readCount", "cloneCount", "Clone count")
_UMIS = (
    "uniqueMoleculeCount",
    "uniqueUMICount",
    "umiCount",
    "uniqueTagCountMolecule",
    "uniqueTagCountUMI",
    "uniqueTagCountMI",
)
_CELLS = ("uniqueCellCount", "uniqueTagCountCell")
_CLONE = ("cloneId", "Clone ID")
# A cell by one tag or, as the well of a plate, by several; the cells with one pair, since version 4.5.
_TAG = "tagValueCELL"
_GROUP = "cellGroup"
_CHAINS = ("topChains", "chains", "Chains")

LAYOUTS = (
    *((_JUNCTION, *hits) for hits in _HITS),
    *((junction, *hits) for junction in _OLD_JUNCTIONS for hits in _OLD_HITS),
)
# Nucleotides of the CDR3, which has the conserved ends.
_NUCLEOTIDES = ("nSeqCDR3", "N. Seq. CDR3", "N. seq. CDR3")
OPTIONAL = (
    _TAG,
    _GROUP,
    *_NUCLEOTIDES,
    *_READS,
    *_UMIS,
    *_CELLS,
    *_CLONE,
    *_CHAINS,
)


ROLES = {"cell": (f"{_TAG}…", _GROUP), "UMIs": _UMIS, "reads": _READS, "cells": _CELLS}


def further(columns: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of a cell: its barcode, or plate, row and column."""
    return tuple(name for name in columns if name.startswith(_TAG))


def roles(table: pa.Table) -> Roles:
    """Return the columns of counts and flags, and of the cell: all of its tags."""
    counts = {unit: names for unit, names in ROLES.items() if unit != "cell"}
    return choose(table, cell=("+".join(further(table.column_names)), _GROUP), flags=FLAGS, **counts)


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return one chain per clone (of a cell, if cells are tagged); hits are listed best first."""
    cell = roles.cells(table)
    v_hits, j_hits = zip(*_HITS, *_OLD_HITS, strict=True)
    return chain_table(
        row=table["row"],
        cell_key=cell_keys(table, cell, roles.samples),
        chain_key=first_value(table, _CLONE),
        cell_id=pc.coalesce(cell, first_value(table, _CLONE)),
        locus=first_value(table, _CHAINS),
        v_call=first_value(table, v_hits),
        j_call=first_value(table, j_hits),
        junction_aa=first_value(table, (_JUNCTION, *_OLD_JUNCTIONS)),
        **roles.read(table),
        junction=first_value(table, _NUCLEOTIDES),
    )
