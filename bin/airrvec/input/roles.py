"""
Roles of the columns of a file: cell, counts with their units, flags of quality.

Each role has a list of names (`airrvec.input.role_names`). The first that has a value is taken, for the file
and not for the row; two that disagree are an error.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from airrvec.core.errors import InputError
from airrvec.core.terminal import counted
from airrvec.input import values
from airrvec.input.role_names import (
    BARCODE,
    CELL,
    COPIES,
    ELLIPSIS,
    FLAGS,
    FLAWS,
    READS,
    SAMPLE,
    UMIS,
    UNITS,
    flaw_of,
    spelled,
    strings_of,
    with_prefix,
)

import pyarrow as pa
import pyarrow.compute as pc

N_IDS = 10_000  # ids of sequences in which a barcode or count is looked for
# What programs call a cell in these columns, in lower case; a cell without a hashtag may be a good one.
_GOOD = (
    "singlet",
    "sng",
    "not doublet",
    "not multiplet",
    "negative",
    "unassigned",
    "ambiguous",
    "amb",
    "no",
    "pass",
)
_BAD = ("doublet", "dbl", "multiplet", "multi", "heterotypic", "homotypic")


@dataclass(frozen=True)
class Roles:
    """
    Columns of a file by their role.

    Attributes
    ----------
    cell : str or None
        Name of the cell; ``row+column`` is one of two columns.
    samples : tuple of str
        Columns of `SAMPLE`, within which cells have names.
    counts : dict
        ``duplicate_count``, ``umi_count`` and ``cell_count`` → column.
    units : dict
        The same fields → a key of `UNITS`.
    flags : dict
        Keys of `FLAGS` → column.
    flaws : tuple of str
        Columns of `FLAWS`.
    marks : dict
        Column of counts → its decimal mark, if it shows one (`airrvec.input.values.decimal_mark`).
    parts : dict
        Roles of the chains of a row, of which each has columns of its own.
    unused : dict
        Column → the role that its name suggests, which the format has no column for.
    """

    cell: str | None = None
    samples: tuple[str, ...] = ()
    counts: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()
    marks: Mapping[str, str | None] = field(default_factory=dict)
    parts: Mapping[str, "Roles"] = field(default_factory=dict)
    unused: Mapping[str, str] = field(default_factory=dict)

    @property
    def described(self) -> str:
        """The roles in words: ``cell = cell_barcode · count = transcript_count (UMIs)``."""
        every = (self, *self.parts.values())
        counts = [
            f"count = {name} ({role.units[key]}{', decimal comma' if role.marks.get(name) == ',' else ''})"
            for role in every
            for key, name in role.counts.items()
        ]
        _, quality = self.numbers_and_truths()
        within = f" within {', '.join(self.samples)}" if self.samples else ""
        cell = [f"cell = {self.cell or 'column without a name'}{within}"] if self.cell is not None else []
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
        fields = {
            name: values.counts(strings_of(table, column), self.marks.get(column))
            for name, column in self.counts.items()
        }
        fields |= {name: values.truths(strings_of(table, column)) for name, column in self.flags.items()}
        return fields | ({"flaw": self._flaws(table)} if self.flaws else {})

    def _flaws(self, table: pa.Table) -> pa.ChunkedArray:
        nothing = pa.scalar(None, pa.string())
        reasons = []
        for column in self.flaws:
            good, reason = flaw_of(column)
            flawed = pc.not_equal(judged(strings_of(table, column), good), good)
            reasons.append(pc.if_else(pc.fill_null(flawed, False), f"{reason} ({column})", nothing))
        return pc.coalesce(*reasons)


def judged(strings: pa.ChunkedArray, good: bool) -> pa.ChunkedArray:
    """Return the booleans of a column of `FLAWS`, whose words may name the cell, as ``Singlet`` does."""
    words = pc.utf8_lower(strings)
    is_word = [pc.is_in(words, pa.array(known)) for known in (_GOOD, _BAD)]
    return pc.case_when(
        pc.make_struct(*is_word), pa.scalar(good), pa.scalar(not good), values.truths(strings)
    )


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

    A column without a value stands back for one of another unit that has values.

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
    # A column `umi` may hold the UMIs themselves.
    wanted = spelled(table.column_names, [name for names in counts.values() for name in names])
    numbers = table.drop_columns([name for name in wanted if are_sequences(table, name)])
    columns = {unit: _chosen(numbers, f"number of {unit}", names, _differ) for unit, names in counts.items()}
    taken: dict[str, str] = {}
    units: dict[str, str] = {}
    for unit in sorted(columns, key=lambda unit: not _has_value(table, columns[unit])):
        column = columns[unit]
        if column is not None and UNITS[unit] not in taken:
            taken[UNITS[unit]], units[UNITS[unit]] = column, unit
    named = {name: _chosen(table, f"flag '{name}'", wanted, _say_other) for name, wanted in flags.items()}
    chosen = _chosen(table, "name of the cell", cell, _divide_otherwise)
    return Roles(
        cell=chosen,
        samples=tuple(spelled(set(table.column_names) - {chosen}, SAMPLE)) if chosen else (),
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
    return _with_marks(_choose_for(reader, table), table)


def _with_marks(roles: Roles, table: pa.Table) -> Roles:
    marks = {name: values.decimal_mark(strings_of(table, name)) for name in roles.counts.values()}
    parts = {name: _with_marks(part, table) for name, part in roles.parts.items()}
    return replace(roles, marks=marks, parts=parts)


def _choose_for(reader, table: pa.Table) -> Roles:
    if hasattr(reader, "roles"):
        return reader.roles(table)
    if not hasattr(reader, "ROLES"):
        return Roles()
    row_roles = {
        role: [name for name in names if ELLIPSIS not in name] for role, names in reader.ROLES.items()
    }
    flags = {field: row_roles.pop(field, names) for field, names in FLAGS.items()}
    parts = {
        prefix: choose(table, flags={}, flaws=(), **with_prefix(reader.ROLES, prefix))
        for prefix in getattr(reader, "PREFIXES", ())
    }
    return replace(choose(table, flags=flags, **row_roles), parts=parts)


def or_inside(roles: Roles, table: pa.Table, column: str) -> Roles:
    """Return the roles, and for a cell or counts that no column gives, the parts of a column that do."""
    first = table.slice(0, N_IDS)

    has_value = partial(_has_value, first)
    if column not in table.column_names:
        return roles
    if not has_value(roles.cell):
        # pRESTO's BARCODE is the UMI of a bulk library.
        cells = (f"{column}|{part}" for part in (BARCODE, "CELL_ID", "CELL"))
        roles = replace(roles, cell=next(filter(has_value, cells), roles.cell))
    if roles.counts:
        return roles
    inside = {"UMIs": f"{column}|UMICOUNT", "reads": f"{column}|CONSCOUNT", "copies": f"{column}|DUPCOUNT"}
    taken = {UNITS[unit]: unit for unit, name in inside.items() if has_value(name)}
    return replace(roles, counts={field: inside[unit] for field, unit in taken.items()}, units=taken)


def _has_value(table: pa.Table, name: str | None) -> bool:
    return name is not None and strings_of(table, name).null_count < len(table)


def are_sequences(table: pa.Table, name: str) -> bool:
    """Return whether the first values of a column are nucleotides."""
    strings = strings_of(table.slice(0, N_IDS), name).drop_null()
    return len(strings) > 0 and bool(pc.all(pc.match_substring_regex(strings, r"^[ACGTN]{4,}$")).as_py())


def _chosen(table: pa.Table, role: str, wanted: Iterable[str], disagree: Callable) -> str | None:
    """Return the first of the wanted columns that has a value, else the first that there is."""
    names = [name for name in table.column_names if name != "row"]
    wanted = list(wanted)
    joined = [name for name in wanted if "+" in name and set(name.split("+")) <= set(names)]
    present = spelled([*names, *joined], wanted)
    if len(present) < 2:
        return next(iter(present), None)
    filled = [name for name in present if _has_value(table, name)]
    for other in filled[1:]:
        if disagree(*_complete_pairs(strings_of(table, filled[0]), strings_of(table, other))):
            raise InputError(
                f"the columns '{filled[0]}' and '{other}' both give the {role}, and differ",
                fix="Delete or rename the one that is not meant, or give a column map",
            )
    return next(iter([*filled, *present]), None)


def _complete_pairs(one: pa.ChunkedArray, other: pa.ChunkedArray) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    both = pc.and_(pc.is_valid(one), pc.is_valid(other))
    return one.filter(both), other.filter(both)


def _differ(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Return whether two columns of counts differ in one that can be read."""
    return bool(pc.any(pc.not_equal(values.counts(one), values.counts(other))).as_py())


def _say_other(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Return whether two columns of flags differ in one that can be read."""
    return bool(pc.any(pc.not_equal(values.truths(one), values.truths(other))).as_py())


def _divide_otherwise(one: pa.ChunkedArray, other: pa.ChunkedArray) -> bool:
    """Return whether a column of names of cells tells rows apart that the first does not."""
    pairs = pc.binary_join_element_wise(one, other, "\0")
    return pc.count_distinct(pairs).as_py() > pc.count_distinct(one).as_py()


# --- Counts and booleans of a file that cannot be read, and columns that are not: counted and named

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
    n, n_filled : int
        Number of such values, and of all values.
    row, value
        The first of them.
    """

    column: str
    problem: str
    n: int = 0
    n_filled: int = 0
    row: int | None = None
    value: str | None = None

    @property
    def is_error(self) -> bool:
        """Whether these are too many for the column to have been understood."""
        if self.problem == ROUNDED or not self.n:
            return False
        if self.problem == SHARE:
            return self.n > MOST_SHARES * self.n_filled
        return self.n > MOST * self.n_filled if self.n_filled >= FEW else self.n == self.n_filled

    @property
    def sentence(self) -> str:
        first = f"first: row {self.row}, '{self.value}'"
        if self.problem == ROUNDED:
            subject = f"{self.n:,} of {self.n_filled:,} counts in '{self.column}'"
            return f"{subject} have decimals and were rounded ({first})"
        verb = "is" if self.n == 1 else "are"
        subject = f"{self.n:,} of {counted(self.n_filled, 'value')} in '{self.column}'"
        read = "counted as 1" if self.problem == SHARE else "read as missing"
        return f"{subject} {verb} {self.problem} ({first}) and {read}"


@dataclass
class UnreadValues:
    """Values of a file that cannot be read, by column and problem."""

    problems: dict[tuple[str, str], Unread] = field(default_factory=dict)

    def add(self, batch: Iterable[Unread]) -> None:
        for new in batch:
            known = self.problems.setdefault((new.column, new.problem), Unread(new.column, new.problem))
            if new.n and known.row is None:
                known.row, known.value = new.row, new.value
            known.n += new.n
            known.n_filled += new.n_filled

    def sentences(self) -> list[str]:
        return [unread.sentence for unread in self.problems.values() if unread.n]

    def check(self, sample_id: str) -> None:
        """Raise an `InputError` if too many of the values of a column cannot be read."""
        for unread in self.problems.values():
            if unread.is_error:
                subject = f"{sample_id}: {unread.n:,} of {unread.n_filled:,} values"
                raise InputError(
                    f"{subject} are {unread.problem}, the first '{unread.value}'",
                    row=unread.row,
                    column=unread.column,
                    fix="Correct the values, rename the column, or name the right one in a column map",
                )


def unread_values(table: pa.Table, roles: Roles) -> list[Unread]:
    """Return the unreadable counts and flags of a batch, one entry per column and problem."""
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
    if name in table.column_names and values.plain_digits(table[name]) is not None:
        return [Unread(name, NO_COUNT, 0, len(table) - table[name].null_count)]
    strings = strings_of(table, name)
    if values.plain_digits(strings) is not None:
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
    n_filled = len(strings) - strings.null_count
    if not pc.any(mask).as_py():
        return Unread(name, problem, 0, n_filled)
    rows, words = table["row"].filter(mask), strings.filter(mask)
    first = words[0].as_py()
    shown = first if len(first) <= LONGEST_SHOWN else first[:LONGEST_SHOWN] + "…"
    return Unread(name, problem, len(rows), n_filled, rows[0].as_py(), shown)


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
