"""
Names of the columns of cells, samples, counts and flags, in the tables of many programs.

A name is compared without blanks, points, dashes, underscores and case; one that ends with ``…`` is the
beginning of a name.
"""

import re
from collections.abc import Iterable, Mapping

from airrvec.input import values

import pyarrow as pa
import pyarrow.compute as pc

BARCODE = "barcode"
READS_PART = "reads"
# Parts of a column: a contig's name before its number, if a barcode is in it, with all that is around the
# barcode and tells samples apart; the seventh field of a chain as TRUST4 writes it.
_BARCODE = r"(?:.*[^A-Za-z])?[ACGTN]{10,}(?:[^A-Za-z].*)?"
_PARTS = {
    BARCODE: rf"^(?P<part>{_BARCODE})_(?:contig|consensus)_[0-9]+(?:[|\s].*)?$",
    READS_PART: r"^(?:[^,]*,){6}(?P<part>[^,;]*)",
}


def strings_of(table: pa.Table, name: str) -> pa.ChunkedArray:
    """
    Return a column with missing words as nulls.

    ``one+other`` is both columns joined, null if one is. ``one|PART`` is a part of a column: ``PART=…``
    between vertical bars, as pRESTO writes it, or one of `_PARTS`.
    """
    column, bar, part = name.partition("|")
    if bar and name not in table.column_names:
        pattern = _PARTS.get(part, rf"\|{part}=(?P<part>[^|]+)")
        return values.trimmed(pc.struct_field(pc.extract_regex(table[column], pattern), "part"))
    names = [name] if name in table.column_names else name.split("+")
    parts = [values.trimmed(table[part]) for part in names]
    return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


# --- Names of the columns of cells, samples, counts and flags, in the tables of many programs

CELL = (
    *("cell_id", "cell_barcode", "barcode", "cell", "cell_index", "cell_name", "barcode_id", "imd_barcode"),
    *(
        "tagValueCELL",
        "cellGroup",
        "cell_group",
        "cb",
        "obs_names",
        "cell_bc",
        "unique_cell_id",
        "droplet_id",
    ),
    *("well", "well_id"),
)
# Of one cell only within its sample: a table may join samples whose cells have the same names.
SAMPLE = (
    *("repertoire_id", "sample_id", "sample", "sample_name", "data_processing_id", "orig.ident", "library"),
    *(
        "library_id",
        "lane",
        "gem_group",
        "donor",
        "donor_id",
        "subject",
        "subject_id",
        "patient",
        "patient_id",
    ),
    *("batch", "origin", "plate", "plate_id"),
)
UMIS = (
    *("umi_count", "umis", "umi", "umi_counts", "n_umis", "n_umi", "num_umis", "num_umi", "total_umis"),
    *("transcript_count", "transcripts", "molecule_count", "unique_molecule_count", "unique_umi_count"),
    *("molecules", "n_molecules"),
)
READS = (
    *("read_count", "reads", "read_counts", "n_reads", "num_reads", "number_of_reads", "total_reads"),
    *("reads_count", "read_support", "clone_read_count", "consensus_reads"),
)
COPIES = (
    *("duplicate_count", "count", "counts", "clone_count", "clone_counts", "clones", "clone_size", "copies"),
    *("copy", "copy_number", "copy_count", "dupcount", "n_copies", "total_count", "abundance"),
)
ELLIPSIS = "…"  # at the beginning of a name: what names a chain, as in ``TRA_read_count``
# Unit → field of chain records.
UNITS = {
    "UMIs": "umi_count",
    "templates": "duplicate_count",
    "cells": "cell_count",
    "reads": "duplicate_count",
    "copies": "duplicate_count",
}
PRODUCTIVE = (
    *("productive", "is_productive", "productive_flag", "productivity", "functional", "is_functional"),
    *("functionality", "functionality_status", "V-DOMAIN Functionality"),
)
IS_CELL = ("is_cell", "putative", "putative_cell")
HIGH_CONFIDENCE = ("high_confidence",)
_DOUBLETS = (
    *("is_doublet", "doublet", "doublets", "predicted_doublet", "predicted_doublets", "doublet_class"),
    *("doublet_status", "doublet_call", "doublet_prediction", "doublet_flag", "scDblFinder.class"),
    *("scrublet_call", "scrublet_prediction", "DF.classifications…", "HTO_classification.global"),
    *("hto_global", "DROPLET.TYPE", "souporcell_status", "MULTIseq_class", "demux_type"),
)
# Flags of a cell or a chain: name → the value of a good one, and what another says.
FLAWS = {
    **dict.fromkeys(
        ("is_multiplet", "multiplet", "multiplets", "multiplet_status"), (False, "the cell is a multiplet")
    ),
    **dict.fromkeys(_DOUBLETS, (False, "the cell is a doublet")),
    **dict.fromkeys(("is_singlet", "singlet"), (True, "the cell is a doublet")),
    **dict.fromkeys(("ambiguous", "is_ambiguous"), (False, "the contig is ambiguous")),
    **dict.fromkeys(
        ("high_quality_cell", "high_quality_cell_tcr_bcr", "pass_qc"),
        (True, "the cell is not of high quality"),
    ),
    **dict.fromkeys(("imputed", "is_imputed"), (False, "the chain is imputed")),
}
FLAGS = {"productive": PRODUCTIVE, "is_cell": IS_CELL, "high_confidence": HIGH_CONFIDENCE}


def plain(name: str) -> str:
    """Return a column's name as names are compared; one of marks alone as it is."""
    return re.sub(r"[^a-z0-9]", "", name.removeprefix("obs/").lower()) or name


def spelled(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return the columns of a file that are wanted, in any spelling, in the order of ``wanted``."""
    places, begins = {}, {}
    for place, name in reversed(list(enumerate(wanted))):
        (begins if name.endswith(ELLIPSIS) else places)[plain(name)] = place

    def place_of(name: str) -> int | None:
        at = (place for begin, place in begins.items() if plain(name).startswith(begin))
        return places.get(plain(name), next(at, None))

    place_of_name = {name: place for name in names if (place := place_of(name)) is not None}
    return sorted(place_of_name, key=place_of_name.__getitem__)


def names_of_roles(names: Iterable[str], reader_roles: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the columns of a file that a role may take, in all formats or in its reader's ``ROLES``."""
    flags = (*PRODUCTIVE, *IS_CELL, *HIGH_CONFIDENCE, *FLAWS)
    own = [name for some in reader_roles.values() for name in some]
    return spelled(names, (*own, *CELL, *SAMPLE, *UMIS, *READS, *COPIES, *flags))


def with_prefix(names_by_role: Mapping[str, Iterable[str]], prefix: str) -> dict[str, list[str]]:
    """Return the names of a chain's columns by their role."""
    return {
        role: [name.replace(ELLIPSIS, prefix) for name in names if ELLIPSIS in name]
        for role, names in names_by_role.items()
    }


def flaw_of(column: str) -> tuple[bool, str]:
    """Return the entry of `FLAWS` of a column."""
    return FLAWS[next(name for name in FLAWS if spelled([column], [name]))]
