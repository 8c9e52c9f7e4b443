"""Samplesheet and its rules, shared by the pipeline and the command ``airrvec``."""

import gzip
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError, no_file
from airrvec.core.terminal import counted
from airrvec.input import species_names
from airrvec.input.files.container import damaged
from airrvec.input.mhc_names import checked_typing
from airrvec.input.reading import FORMATS
from airrvec.input.samplesheet.names import (
    OWN_COLUMNS,
    ROLES,
    UNIT_COLUMNS,
    column_problems,
    name_problem,
    shorten,
)
from airrvec.input.units import NOTHING, DeclaredUnit

MOST_BYTES = 64 << 20  # 100,000 samples take a tenth of it
_LINE_END = re.compile(r"\r\n|\n|\r")
# One cell of a line. `csvCells` in subworkflows/local/samplesheet finds the tables with the same expression.
_CELL = re.compile(r'(?:^|(?<=,))(?:\s*"[^"]*(?:""[^"]*)*"\s*|[^,]*)(?=,|$)')
_QUOTED = re.compile(r'"[^"]*(?:""[^"]*)*"')
_BLANKS = "".join(map(chr, range(33)))  # characters that Groovy's `trim` removes


def lines(path: Path, n_bytes: int = MOST_BYTES) -> list[tuple[int, str]]:
    """
    Return the lines with more than blanks and commas, with their line numbers from 1.

    Raises
    ------
    InputError
        If the file has more than ``n_bytes`` bytes, is not UTF-8 text, or is empty.
    """
    content = _read(path, n_bytes + 1)
    if content.startswith((b"\xff\xfe", b"\xfe\xff", b"PK", b"BZh", b"\x28\xb5\x2f\xfd")) or b"\0" in content:
        raise InputError(
            "this is a binary file or text in UTF-16; a samplesheet is UTF-8 text, plain or gzip",
            file=path,
            fix="Save the samplesheet as CSV, comma-separated, in UTF-8",
        )
    if len(content) > n_bytes:
        raise InputError(
            f"the samplesheet is larger than {n_bytes >> 20} MB",
            file=path,
            fix="Give a list of tables, with the columns sample and path, not a table of receptors",
        )
    return _numbered(_decoded(content, path), path)


def first_line(path: Path) -> str:
    """
    Return the first line with text in the first 64 KiB of a file, or "" if there is none.

    Raises
    ------
    InputError
        If the file cannot be decompressed.
    """
    start = _read(path, 1 << 16)
    full = [line for line in _LINE_END.split(start.decode("utf-8-sig", "replace")) if line.strip(_BLANKS)]
    return full[0] if full else ""


def cells(line: str) -> list[str]:
    """
    Return the cells of a line.

    Raises
    ------
    ValueError
        If a quotation mark is not closed.
    """
    return [_unquoted(cell.strip(_BLANKS)) for cell in _CELL.findall(line)]


def _read(path: Path, n_bytes: int) -> bytes:
    """Return the first bytes of a file, decompressed if it is gzip."""
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
        with (gzip.open if compressed else open)(path, "rb") as handle:
            return handle.read(n_bytes)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise no_file(path) from error
    except (EOFError, zlib.error, OSError) as error:
        raise damaged(path, error) from error


def _unquoted(cell: str) -> str:
    if not cell.startswith('"'):
        return cell
    if not _QUOTED.fullmatch(cell):
        raise ValueError
    return cell[1:-1].replace('""', '"').strip(_BLANKS)


def _decoded(content: bytes, path: Path) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = len(_LINE_END.split(content[: error.start].decode("latin-1")))
        raise InputError(
            f"line {line} holds bytes that are not UTF-8 text",
            file=path,
            fix="Save it as CSV in UTF-8, or convert it, e.g. `iconv -f latin1 -t utf-8`",
        ) from error


def _numbered(text: str, path: Path) -> list[tuple[int, str]]:
    numbered = enumerate(_LINE_END.split(text), start=1)
    full = [(number, line) for number, line in numbered if line.strip(_BLANKS + ",")]
    if not full:
        needed = (
            "it needs the columns sample, path and, optionally, format, column_map, role, species and hla"
        )
        raise InputError(f"the samplesheet is empty; {needed}", file=path)
    return full


# --- The samplesheet


@dataclass(frozen=True)
class Sample:
    """
    A row of a samplesheet.

    Attributes
    ----------
    name : str
        Name, unique when case is ignored; the role of a table that is not a sample.
    role : {"sample", "labelled", "reference"}
        Use of the table: as a sample, or as the parameter of that name.
    path : str
        Path of the table, as written in the samplesheet.
    format, column_map : str or None
        Name of the format; path of the column map.
    species : str
        A key of `airrvec.core.schema.SPECIES`, for rows of the table without a species.
    metadata : dict
        Further columns, the same for every sample; None for an empty cell.
    row, line : int
        Number of the data row, and of its line in the file, from 1.
    hla : str
        HLA of the donor, as written by `airrvec.input.mhc_names.checked_typing`; empty if unknown.
    unit : Given
        What a row of the table is and what is counted, if the samplesheet says it.
    """

    name: str
    role: str
    path: str
    format: str | None
    column_map: str | None
    species: str
    metadata: dict[str, str | None]
    row: int
    line: int
    hla: str = ""
    unit: DeclaredUnit = NOTHING


@dataclass(frozen=True)
class Problem:
    """
    A problem with an input.

    Attributes
    ----------
    error : InputError
    sample : str or None
        Name of the excluded sample; None if the problem ends the run.
    row : int
        Row of the samplesheet; 0 if there is none.
    """

    error: InputError
    sample: str | None = None
    row: int = 0


@dataclass(frozen=True)
class Sheet:
    """
    A parsed samplesheet.

    Attributes
    ----------
    path : Path
    metadata : list of str
        Names of the further columns.
    samples : list of Sample
        Valid rows, in order.
    problems : list of Problem
        All broken rules.
    """

    path: Path
    metadata: list[str]
    samples: list[Sample]
    problems: list[Problem]


def read(path: str | Path, species: str) -> Sheet:
    """
    Read a samplesheet and check all rules.

    Parameters
    ----------
    path : str or Path
        CSV, plain or gzip.
    species : str
        Species of samples without one in the samplesheet.
    """
    path = Path(path)
    try:
        header, rows = _split(path)
    except InputError as error:
        return Sheet(path, [], [], [Problem(error)])
    metadata = [name for name in header if name not in OWN_COLUMNS]
    problems = [Problem(InputError(text, fix=fix, file=path)) for text, fix in column_problems(header)]
    if problems:  # the meaning of the cells is unknown
        return Sheet(path, metadata, [], problems)
    if not rows:
        problems = [Problem(InputError("the samplesheet has a header and no rows", file=path))]
    samples = []
    names: dict[str, tuple[int, str]] = {}
    for number, (line, cells) in enumerate(rows, start=1):
        row = _Row(path, number, line)
        sample = row.sample(header, cells, species, names)
        samples += [sample] if sample else []
        problems += row.problems
    return Sheet(path, metadata, samples, problems)


def is_samplesheet(path: str | Path) -> bool:
    """Return True if a file has the columns ``sample`` and ``path``, which no table of receptors has."""
    try:
        header = cells(first_line(Path(path)))
    except (InputError, ValueError):
        return False
    return {"sample", "path"} <= {name.lower() for name in header}


def condition_problems(conditions: Mapping[str, str | None], sheet: Sheet | None) -> list[Problem]:
    """Return the problems with metadata columns that parameters name, by the names of these."""
    columns = sheet.metadata if sheet else []
    unread = sheet and not sheet.samples  # its columns are unknown
    columns_there = f"it has: {', '.join(columns) or 'none'}"
    return [
        Problem(InputError(f"--{name}: the samplesheet has no metadata column '{column}'; {columns_there}"))
        for name, column in conditions.items()
        if column is not None and column not in columns and not unread
    ]


def _split(path: Path) -> tuple[list[str], list[tuple[int, list[str] | None]]]:
    """Return the header and the cells of each line below it; None for a line with an open quotation mark."""
    rows: list[tuple[int, list[str] | None]] = []
    for number, line in lines(path):
        try:
            rows.append((number, cells(line)))
        except ValueError:
            rows.append((number, None))
    (_, header), *rows = rows
    if header is None:
        raise InputError("a quotation mark of the header is not closed", file=path)
    # A spreadsheet may end every line with a comma.
    while (
        len(header) > 2
        and not header[-1]
        and not any(cells and "".join(cells[len(header) - 1 :]) for _, cells in rows)
    ):
        header = header[:-1]
        rows = [(number, cells and cells[: len(header)]) for number, cells in rows]
    return header, rows


class _Row:
    """A row and its problems."""

    def __init__(self, path: Path, number: int, line: int):
        self._path, self._number, self._line = path, number, line
        self.problems: list[Problem] = []

    def sample(
        self, header: list[str], cells: list[str] | None, species: str, names: dict[str, tuple[int, str]]
    ) -> Sample | None:
        """Return the sample, or None if a rule is broken; ``names`` contains the names of earlier rows."""
        if cells is None:
            fix = "Remove it, or the line break within the cell"
            self._add("a quotation mark is not closed on its line", fix=fix)
            return None
        if len(cells) != len(header):
            self._add(f"holds {counted(len(cells), 'cell')}, the header {len(header)}")
            return None
        values = dict(zip(header, cells, strict=True))
        role = values.get("role") or "sample"
        name = values["sample"] if role == "sample" else role
        if role == "sample":
            self._check_name(name, names)
        else:
            self._check_role(role, names)
        own_species = self._check_table(values, species, name if role == "sample" else None)
        hla = self._check_hla(values.get("hla", ""), name) if role == "sample" else ""
        unit = DeclaredUnit(*(self._check_unit(values, column, name) for column in UNIT_COLUMNS))
        if self.problems or own_species is None:
            return None
        metadata = {name: value or None for name, value in values.items() if name not in OWN_COLUMNS}
        format, column_map = values.get("format") or None, values.get("column_map") or None
        table = (name, role, values["path"], format, column_map, own_species, metadata)
        return Sample(*table, self._number, self._line, hla, unit)

    def _check_name(self, name: str, names: dict[str, tuple[int, str]]) -> None:
        problem = name_problem(name)
        if problem is None and name.lower() in names:
            row, other = names[name.lower()]
            spelling = "" if other == name else f" ('{other}'); case is ignored, as on some disks"
            problem = f"'{name}' is also the name of row {row}{spelling}"
        if problem:
            self._add(problem, "sample")
        names.setdefault(name.lower(), (self._number, name))

    def _check_role(self, role: str, names: dict[str, tuple[int, str]]) -> None:
        if role not in ROLES:
            self._add(
                f"'{shorten(role)}' is not one of {', '.join(ROLES)}; leave it empty for a sample", "role"
            )
        elif role == "labelled" and role in names:
            self._add(f"row {names[role][0]} has the role {role} too; a run has one such table", "role")
        names.setdefault(role, (self._number, role))

    def _check_table(self, values: dict[str, str], species: str, name: str | None) -> str | None:
        """Record the problems of a row's other columns; return its species, or None if it is unknown."""
        format, word = values.get("format"), values.get("species", "")
        if not values["path"]:
            self._add("the row names no file", "path", name)
        if format and format not in FORMATS:
            known = ", ".join(FORMATS)
            text = f"'{shorten(format)}' is not one of {known}; leave it empty to detect it from the header"
            self._add(text, "format", name)
        if format and values.get("column_map"):
            text = "a table with a column map has no format; leave one of the two cells empty"
            self._add(text, "column_map", name)
        own = species_names.species_key(word) if word else species
        if own is None:
            known = ", ".join(schema.SPECIES)
            text = f"'{shorten(word)}' is not one of {known}; leave it empty to use --species"
            self._add(text, "species", name)
        return own

    def _check_unit(self, values: dict[str, str], column: str, name: str) -> str | None:
        """Return the word of a unit, in any case of its letters, or record the problem; None if empty."""
        word, words = values.get(column, ""), UNIT_COLUMNS[column]
        unit = next((one for one in words if one.lower() == word.lower()), None)
        if word and unit is None:
            text = (
                f"'{shorten(word)}' is not one of {', '.join(words)}; leave it empty to find it in the table"
            )
            self._add(text, column, name)
        return unit

    def _check_hla(self, text: str, name: str) -> str:
        """Return the HLA of the donor in one spelling, or record the problem."""
        try:
            return checked_typing(text)
        except InputError as error:
            self._add(error.described["problem"], "hla", name, error.described["fix"])
            return ""

    def _add(self, text: str, column: str | None = None, sample: str | None = None, fix: str | None = None):
        error = InputError(text, fix=fix, file=self._path, row=self._number, column=column)
        self.problems.append(Problem(error, sample or None, self._number))
