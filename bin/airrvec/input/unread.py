"""Counts and booleans of a file that cannot be read, and columns that are not: counted and named."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from airrvec.core.errors import InputError
from airrvec.core.plural import counted
from airrvec.input import values
from airrvec.input.named_columns import strings_of
from airrvec.input.role_names import CELL, COPIES, READS, UMIS, flaw_of, spelled
from airrvec.input.roles import Roles, are_sequences, judged

import pyarrow as pa
import pyarrow.compute as pc

# Share of a column's values. A stray word in a table of a million rows costs no result and is reported; where
# one value in twenty cannot be read, the column has another spelling, or another meaning. Among fewer than
# `FEW` values a single word is already more than that share: an error there is a column without any readable
# value.
MOST = 0.05
FEW = 20
LONGEST_SHOWN = 40  # characters of a value
NO_COUNT, NO_BOOLEAN, ROUNDED = "no count", "neither true nor false", "rounded"
SHARE = "between 0 and 1"
MOST_SHARES = 0.5  # of which most are such numbers is no column of counts


@dataclass
class Unread:
    """
    Values of a column which are not what its role needs, or were rounded.

    Attributes
    ----------
    column, problem : str
    n, n_given : int
        Number of such values, and of all values.
    row, value
        The first of them.
    """

    column: str
    problem: str
    n: int = 0
    n_given: int = 0
    row: int | None = None
    value: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether these are too many for the column to have been understood."""
        if self.problem == ROUNDED or not self.n:
            return False
        if self.problem == SHARE:
            return self.n > MOST_SHARES * self.n_given
        return self.n > MOST * self.n_given if self.n_given >= FEW else self.n == self.n_given

    @property
    def sentence(self) -> str:
        first = f"first: row {self.row}, '{self.value}'"
        if self.problem == ROUNDED:
            of = f"{self.n:,} of {self.n_given:,} counts in '{self.column}'"
            return f"{of} have decimals and were rounded ({first})"
        verb = "is" if self.n == 1 else "are"
        of = f"{self.n:,} of {counted(self.n_given, 'value')} in '{self.column}'"
        read = "counted as 1" if self.problem == SHARE else "read as missing"
        return f"{of} {verb} {self.problem} ({first}) and {read}"


@dataclass
class UnreadValues:
    """Values of a file that cannot be read, by column and problem."""

    found: dict[tuple[str, str], Unread] = field(default_factory=dict)

    def add(self, batch: Iterable[Unread]) -> None:
        for new in batch:
            known = self.found.setdefault((new.column, new.problem), Unread(new.column, new.problem))
            if new.n and known.row is None:
                known.row, known.value = new.row, new.value
            known.n += new.n
            known.n_given += new.n_given

    def sentences(self) -> list[str]:
        return [unread.sentence for unread in self.found.values() if unread.n]

    def check(self, sample_id: str) -> None:
        """Raise an `InputError` if too many of the values of a column cannot be read."""
        for unread in self.found.values():
            if unread.is_error:
                of = f"{sample_id}: {unread.n:,} of {unread.n_given:,} values"
                raise InputError(
                    f"{of} are {unread.problem}, the first '{unread.value}'",
                    row=unread.row,
                    column=unread.column,
                    fix="Correct the values, rename the column, or name the right one in a column map",
                )


def unread_values(table: pa.Table, roles: Roles) -> list[Unread]:
    """Return what of the counts and flags of a batch cannot be read, one entry per column and problem."""
    every = (roles, *roles.parts.values())
    marks = {name: role.marks.get(name) for role in every for name in role.counts.values()}
    flags = [name for role in every for name in role.flags.values()]
    flaws = {name: flaw_of(name)[0] for role in every for name in role.flaws}
    return [
        *(unread for name, mark in marks.items() for unread in _unread_counts(table, name, mark)),
        *(_unread_truths(table, name, values.truths) for name in flags),
        *(_unread_truths(table, name, partial(judged, good=good)) for name, good in flaws.items()),
    ]


def _unread_counts(table: pa.Table, name: str, mark: str | None) -> list[Unread]:
    if name in table.column_names and values.digits_alone(table[name]) is not None:
        return [Unread(name, NO_COUNT, 0, len(table) - table[name].null_count)]
    strings = strings_of(table, name)
    if values.digits_alone(strings) is not None:
        return [Unread(name, NO_COUNT, 0, len(strings) - strings.null_count)]
    problems = {NO_COUNT: values.unreadable_counts, ROUNDED: values.rounded_counts, SHARE: values.shares}
    return [
        _unread(table, name, strings, problem, is_unread(strings, mark))
        for problem, is_unread in problems.items()
    ]


def _unread_truths(table: pa.Table, name: str, read: Callable) -> Unread:
    words = pc.unique(table[name].drop_null())
    if not pc.any(pc.is_null(read(values.trimmed(words)))).as_py():
        return Unread(name, NO_BOOLEAN, 0, len(table) - table[name].null_count)
    strings = strings_of(table, name)
    return _unread(table, name, strings, NO_BOOLEAN, pc.and_(pc.is_valid(strings), pc.is_null(read(strings))))


def _unread(
    table: pa.Table, name: str, strings: pa.ChunkedArray, problem: str, mask: pa.ChunkedArray
) -> Unread:
    n_given = len(strings) - strings.null_count
    if not pc.any(mask).as_py():
        return Unread(name, problem, 0, n_given)
    rows, words = table["row"].filter(mask), strings.filter(mask)
    first = words[0].as_py()
    shown = first if len(first) <= LONGEST_SHOWN else first[:LONGEST_SHOWN] + "…"
    return Unread(name, problem, len(rows), n_given, rows[0].as_py(), shown)


def with_unused(reader, table: pa.Table, chosen: Roles) -> Roles:
    """Return the roles, and the columns that by their names have a role for which none is chosen."""
    if not hasattr(reader, "ROLES"):
        return chosen
    known = {*reader.OPTIONAL, *(name for layout in reader.LAYOUTS for name in layout)}
    taken = {field for roles in (chosen, *chosen.parts.values()) for field in roles.counts}
    missing = {
        "the name of the cell": () if chosen.cell else CELL,
        "the number of UMIs": () if "umi_count" in taken else UMIS,
        "the number of reads or copies": () if taken - {"umi_count"} else (*READS, *COPIES),
    }
    unused = {
        name: role
        for role, names in missing.items()
        for name in spelled(set(table.column_names) - known, names)[:1]
        if strings_of(table, name).null_count < len(table) and not are_sequences(table, name)
    }
    return replace(chosen, unused=unused)
