"""MiXCR's ``clone.groups`` (``exportCloneGroups``): a group of cells per row, with all of its chains."""

from airrvec.input.formats.chains import chains_by_prefix, names_with_prefixes
from airrvec.input.roles import Roles

import pyarrow as pa

NAME = "mixcr_groups"
TITLE = "MiXCR exportCloneGroups"
ROW = "clonotype"
DELIMITER = "\t"

PREFIXES = {
    f"{locus}.{rank}.": locus
    for locus in ("TRA", "TRB", "TRG", "TRD", "IGH", "IGK", "IGL")
    for rank in ("primary", "secondary")
}
_FIELDS = {
    "v_call": ("bestVHit", "bestVGene", "allVHitsWithScore"),
    "j_call": ("bestJHit", "bestJGene", "allJHitsWithScore"),
    "junction_aa": ("aaSeqCDR3",),
    "junction": ("nSeqCDR3",),
}
ROLES = {
    "cell": ("cellGroup",),
    "UMIs": ("…uniqueMoleculeCount", "…uniqueUMICount"),
    "reads": ("…readCount",),
    "cells": ("groupUniqueCellCount",),
}

LAYOUTS = tuple(("cellGroup", f"{locus}.primary.aaSeqCDR3") for locus in ("TRA", "TRB"))
OPTIONAL = (
    *names_with_prefixes(PREFIXES, _FIELDS, ROLES),
    *ROLES["cells"],
)


def chains(table: pa.Table, roles: Roles) -> pa.Table:
    """Return all chains of a group, which is one cell here."""
    return chains_by_prefix(table, roles, PREFIXES, _FIELDS)
