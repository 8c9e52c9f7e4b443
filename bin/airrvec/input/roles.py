"""
What the columns of a file mean: its cell, its counts with their units, and flags of quality.

Each role has a list of names. The first that has a value is taken, for the file and not for the row; two that
disagree are an error. A name is compared without blanks, points, dashes, underscores and case.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from airrvec.core.errors import InputError
from airrvec.input import values
from airrvec.input.named_columns import BARCODE, strings_of

import pyarrow as pa
import pyarrow.compute as pc

CELL = (
    *("cell_id", "cell_barcode", "barcode", "cell", "cell_index", "cell_name", "barcode_id", "imd_barcode"),
    *("tagValueCELL", "cellGroup", "cell_group", "cb", "obs_names"),
)
UMIS = (
    *("umi_count", "umis", "umi", "umi_counts", "n_umis", "num_umis", "transcript_count", "transcripts"),
    *("molecule_count", "unique_molecule_count", "unique_umi_count", "molecules"),
)
READS = ("read_count", "reads", "read_counts", "n_reads", "num_reads", "read_support", "clone_read_count")
COPIES = (
    *("duplicate_count", "count", "counts", "clone_count", "clone_counts", "clones", "copies", "copy_number"),
    *("copy_count", "dupcount", "n_copies"),
)
ELLIPSIS = "…"  # in a name: the beginning that names a chain, as in ``TRA_read_count``
N_IDS = 10_000  # ids of sequences in which a barcode or count is looked for
# Unit → field of chain records.
UNITS = {
    "UMIs": "umi_count",
    "templates": "duplicate_count",
    "cells": "cell_count",
    "reads": "duplicate_count",
    "copies": "duplicate_count",
}
PRODUCTIVE = ("productive", "is_productive", "productivity", "functional", "functionality_status")
IS_CELL = ("is_cell", "putative", "putative_cell")
HIGH_CONFIDENCE = ("high_confidence",)
# Flags of a cell or a chain: name → the value of a good one, and what another says.
FLAWS = {
    "is_multiplet": (False, "the cell is a multiplet"),
    "multiplet": (False, "the cell is a multiplet"),
    "is_doublet": (False, "the cell is a doublet"),
    "doublet": (False, "the cell is a doublet"),
    "predicted_doublet": (False, "the cell is a doublet"),
    "ambiguous": (False, "the contig is ambiguous"),
    "is_ambiguous": (False, "the contig is ambiguous"),
    "high_quality_cell": (True, "the cell is not of high quality"),
    "high_quality_cell_tcr_bcr": (True, "the cell is not of high quality"),
    "imputed": (False, "the chain is imputed"),
    "is_imputed": (False, "the chain is imputed"),
}
FLAGS = {"productive": PRODUCTIVE, "is_cell": IS_CELL, "high_confidence": HIGH_CONFIDENCE}


def plain(name: str) -> str:
    """Return a column's name as names are compared."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def spelled(names: Iterable[str], wanted: Iterable[str]) -> list[str]:
    """Return those of a file's names that are wanted, however they are spelled; the most wanted first."""
    places = {plain(name): place for place, name in reversed(list(enumerate(wanted)))}
    found = [name for name in names if plain(name) and plain(name) in places]
    return sorted(found, key=lambda name: places[plain(name)])


def names_of_roles(names: Iterable[str]) -> list[str]:
    """Return those of a file's names that a role may take."""
    flags = (*PRODUCTIVE, *IS_CELL, *HIGH_CONFIDENCE, *FLAWS)
    return spelled(names, (*CELL, *UMIS, *READS, *COPIES, *flags))


@dataclass(frozen=True)
class Roles:
    """
    Columns of a file by their role.

    Attributes
    ----------
    cell : str or None
        Name of the cell; ``row+column`` is one of two columns.
    counts : dict
        ``duplicate_count``, ``umi_count`` and ``cell_count`` → column.
    units : dict
        The same fields → a key of `UNITS`.
    flags : dict
        Keys of `FLAGS` → column.
    flaws : tuple of str
        Columns of `FLAWS`.
    parts : dict
        Roles of the chains of a row, of which each has columns of its own.
    unused : dict
        Column → the role that its name suggests, which the format has no column for.
    """

    cell: str | None = None
    counts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()
    parts: Mapping[str, "Roles"] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)

    @property
    def described(self) -> str:
        """What was taken, for people: ``cell = cell_barcode · count = transcript_count (UMIs)``."""
        every = (self, *self.parts.values())
        counts = [f"count = {name} ({role.units[of]})" for role in every for of, name in role.counts.items()]
        _, quality = self.numbers_and_truths()
        cell = [f"cell = {self.cell}"] if self.cell is not None else []
        return " · ".join([*cell, *counts, *([f"quality = {', '.join(quality)}"] if quality else [])])

    def numbers_and_truths(self) -> tuple[list[str], list[str]]:
        """Return the columns of counts, and those of flags."""
        every = (self, *self.parts.values())
        numbers = [name for role in every for name in role.counts.values()]
        return numbers, [name for role in every for name in (*role.flags.values(), *role.flaws)]

    def cells(self, table: pa.Table) -> pa.ChunkedArray:
        """Return the name of each row's cell; null if it has none."""
        if self.cell is None:
            return pa.chunked_array([pa.nulls(len(table), pa.string())])
        return strings_of(table, self.cell)

    def read(self, table: pa.Table) -> dict[str, pa.ChunkedArray]:
        """Return the counts, the flags and ``flaw``, by their fields of chain records."""
        fields = {name: values.counts(strings_of(table, column)) for name, column in self.counts.items()}
        fields |= {name: values.truths(strings_of(table, column)) for name, column in self.flags.items()}
        return fields | ({"flaw": self._flaws(table)} if self.flaws else {})

    def _flaws(self, table: pa.Table) -> pa.ChunkedArray:
        nothing = pa.scalar(None, pa.string())
        found = []
        for column in self.flaws:
            good, reason = _FLAWS[plain(column)]
            flawed = pc.not_equal(values.truths(strings_of(table, column)), good)
            found.append(pc.if_else(pc.fill_null(flawed, False), f"{reason} ({column})", nothing))
        return pc.coalesce(*found)


_FLAWS = {plain(name): flaw for name, flaw in FLAWS.items()}


def choose(
    table: pa.Table,
    *,
    cell: Iterable[str] = (),
    flags: Mapping[str, Iterable[str]] = FLAGS,
    flaws: Iterable[str] = tuple(FLAWS),
    **counts: Iterable[str],
) -> Roles:
    """
    Choose the columns of a file by its first rows.

    Parameters
    ----------
    table : pyarrow.Table
        First rows, as strings.
    cell : iterable of str
        Names for the cell, the most wanted first.
    flags : dict
        Field → names.
    flaws : iterable of str
        Names of flags, of `FLAWS`.
    **counts : iterable of str
        Unit (a key of `UNITS`) → names. Of the units of one field, the first that the file has is taken.

    Raises
    ------
    InputError
        If two columns for one role disagree: two counts that differ, or two names of cells that group rows in
        other ways.
    """
    taken, units = {}, {}
    for unit, wanted in counts.items():
        name = _chosen(table, f"number of {unit}", wanted)
        if name is not None and UNITS[unit] not in taken:
            taken[UNITS[unit]], units[UNITS[unit]] = name, unit
    named = {field: _chosen(table, field, wanted) for field, wanted in flags.items()}
    return Roles(
        cell=_chosen(table, "cell", cell),
        counts=taken,
        units=units,
        flags={field: name for field, name in named.items() if name is not None},
        flaws=tuple(spelled(table.column_names, flaws)),
    )


def choose_for(reader, table: pa.Table) -> Roles:
    """
    Choose the columns of a file by its first rows, as its reader says.

    Parameters
    ----------
    reader : module
        A format, with its own function ``roles``, or with ``ROLES``: role → names, the most wanted first. A
        role is ``cell``, a unit (a key of `UNITS`) or a field of `FLAGS`, whose names are those here if not
        given. A name with ``…`` belongs to a chain, for which each of the reader's ``PREFIXES`` stands.
    table : pyarrow.Table
        First rows, as strings.
    """
    if hasattr(reader, "roles"):
        return reader.roles(table)
    if not hasattr(reader, "ROLES"):
        return Roles()
    of_row = {role: [name for name in names if ELLIPSIS not in name] for role, names in reader.ROLES.items()}
    flags = {field: of_row.pop(field, names) for field, names in FLAGS.items()}
    parts = {
        prefix: choose(table, flags={}, flaws=(), **with_prefix(reader.ROLES, prefix))
        for prefix in getattr(reader, "PREFIXES", ())
    }
    return replace(choose(table, flags=flags, **of_row), parts=parts)


def with_prefix(names_by_role: Mapping[str, Iterable[str]], prefix: str) -> dict[str, list[str]]:
    """Return the names of a chain's columns by their role."""
    return {
        role: [name.replace(ELLIPSIS, prefix) for name in names if ELLIPSIS in name]
        for role, names in names_by_role.items()
    }


def or_inside(roles: Roles, table: pa.Table, column: str) -> Roles:
    """Return the roles, and for a cell or counts that no column gives, the parts of a column that do."""
    first = table.slice(0, N_IDS)

    def has_value(name: str | None) -> bool:
        return name is not None and strings_of(first, name).null_count < len(first)

    if column not in table.column_names:
        return roles
    if not has_value(roles.cell):
        cells = (f"{column}|{part}" for part in (BARCODE, "CELL_ID", "CELL", "BARCODE"))
        roles = replace(roles, cell=next(filter(has_value, cells), roles.cell))
    if roles.counts:
        return roles
    inside = {"UMIs": f"{column}|UMICOUNT", "reads": f"{column}|CONSCOUNT", "copies": f"{column}|DUPCOUNT"}
    taken = {UNITS[unit]: unit for unit, name in inside.items() if has_value(name)}
    return replace(roles, counts={field: inside[unit] for field, unit in taken.items()}, units=taken)


def _chosen(table: pa.Table, role: str, wanted: Iterable[str]) -> str | None:
    """Return the first of the wanted columns that has a value, else the first that there is."""
    names = [name for name in table.column_names if name != "row"]
    joined = [name for name in wanted if "+" in name and set(name.split("+")) <= set(names)]
    found = [*spelled(names, wanted), *joined]
    if len(found) < 2:
        return next(iter(found), None)
    given = [name for name in found if strings_of(table, name).null_count < len(table)]
    for other in given[1:]:
        if _disagree(strings_of(table, given[0]), strings_of(table, other), role):
            raise InputError(
                f"the columns '{given[0]}' and '{other}' both give the {role}, and differ",
                fix="Delete or rename the one that is not meant, or give a column map",
            )
    return next(iter([*given, *found]), None)


def _disagree(one: pa.ChunkedArray, other: pa.ChunkedArray, role: str) -> bool:
    both = pc.and_(pc.is_valid(one), pc.is_valid(other))
    one, other = (column.filter(both) for column in (one, other))
    if role != "cell":
        return bool(pc.any(pc.not_equal(one, other)).as_py())
    pairs = pc.binary_join_element_wise(one, other, "\0")
    n_pairs, n_one, n_other = (pc.count_distinct(column).as_py() for column in (pairs, one, other))
    return not n_pairs == n_one == n_other
