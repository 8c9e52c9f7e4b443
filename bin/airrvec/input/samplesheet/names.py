"""Rules for the names of samples and of samplesheet columns."""

import re
from itertools import chain, count
from pathlib import Path

from airrvec.core import schema

UNIT_COLUMNS = {"row_unit": schema.ROW_UNITS, "count_unit": schema.COUNT_UNITS}  # and their words
OWN_COLUMNS = ("sample", "path", "format", "column_map", "role", "species", "hla", *UNIT_COLUMNS)
ROLES = ("sample", "labelled", "reference")
RESERVED_NAMES = {"labelled": "--labelled", "reference": "--reference", "all_samples": "the exports"}
LONGEST_NAME = 100  # characters; file names contain it

# Columns of the tables that are joined with cells; metadata with such a name would hide them.
RESERVED_COLUMNS = {
    *(
        name
        for table in (
            schema.CELLS,
            schema.COLLECTED_RECEPTORS,
            schema.REJECTS,
            schema.ANNOTATION,
            schema.CLUSTER_MEMBERS,
            schema.GENERATION,
            schema.MAP,
        )
        for name in table.names
    ),
    *(set(schema.CELL_DESCRIPTION.names) - {"name", "barcode"}),
    *("labelled", "index", "_index", "match", "match_reason"),
}
_DIMENSION = re.compile(r"dim_\d+")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def name_problem(name: str) -> str | None:
    """Return the problem with a sample name, or None."""
    if not name:
        return "the sample has no name"
    if not _NAME.fullmatch(name):
        allowed = "letters, digits, '.', '_' and '-' alone, and begins with a letter or a digit"
        return f"'{shorten(name)}' may hold {allowed}"
    if len(name) > LONGEST_NAME:
        return f"'{shorten(name)}' has {len(name)} characters, more than {LONGEST_NAME}"
    if name.lower() in RESERVED_NAMES:
        return f"the name '{name.lower()}' is reserved for {RESERVED_NAMES[name.lower()]}"
    return None


def name_of(path: Path) -> str:
    """Return a sample name from a file name: its part before the first dot, invalid characters as ``_``."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", path.name.split(".")[0]).lstrip("_-")[:LONGEST_NAME]


def unique_names(paths: list[Path]) -> list[str]:
    """Return names of references from their files: distinct when case is ignored, none is ``reference``."""
    names: list[str] = []
    taken = {"reference"}  # the name of a single table, and of several merged
    for path in paths:
        stem = name_of(path) or "table"
        numbered = (f"{stem}_{number}" for number in count(2))
        name = next(name for name in chain([stem], numbered) if name.lower() not in taken)
        taken.add(name.lower())
        names.append(name)
    return names


def column_problems(header: list[str]) -> list[tuple[str, str | None]]:
    """Return the problems with the column names, each as a sentence and a fix or None."""
    problems: list[tuple[str, str | None]] = []
    other = next((word for sign, word in ((";", "semicolons"), ("\t", "tabs")) if sign in header[0]), None)
    if len(header) == 1 and other:
        return [(f"its columns are separated by {other}, not by commas", "Save it as comma-separated CSV")]
    for column in ("sample", "path"):
        if column not in header:
            columns = ", ".join(map(shorten, header))
            problems.append((f"the column '{column}' is missing; the samplesheet has: {columns}", None))
    seen: dict[str, str] = {}
    for number, name in enumerate(header, start=1):
        problem = _column_problem(number, name, seen)
        problems += [problem] if problem else []
        seen.setdefault(name.lower(), name)
    return problems


def _column_problem(number: int, name: str, seen: dict[str, str]) -> tuple[str, str | None] | None:
    lower = name.lower()
    if not name:
        return f"column {number} has no name", "Name it, or remove it"
    if _CONTROL.search(name):
        return f"the name of column {number}, '{shorten(name)}', holds a control character", "Remove it"
    if lower in seen:
        spelling = "" if seen[lower] == name else f", once as '{seen[lower]}'"
        return f"the column '{name}' occurs twice{spelling}", "Give one of the two another name"
    if name in OWN_COLUMNS:
        return None
    if lower in OWN_COLUMNS:
        return f"the column '{name}' is one of airrvec's own", f"Write it '{lower}'"
    if lower in RESERVED_COLUMNS or _DIMENSION.fullmatch(lower):
        return f"the column '{name}' is one of airrvec's own; give it another name", None
    return None


def shorten(text: str) -> str:
    """Return text for a message: at most 60 characters, without control characters."""
    plain = _CONTROL.sub("\ufffd", text)
    return plain if len(plain) <= 60 else plain[:59] + "…"
