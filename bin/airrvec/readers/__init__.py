"""
Input formats: one file each, one registry.

A reader is a module with ``NAME``, ``TITLE``, ``DELIMITER`` (None: tab or comma), ``LAYOUTS``
(tuples of the columns that it needs; a file has to have those of one), ``OPTIONAL`` columns and
``chains(table)``, which turns a table of strings into chain records (`airrvec.schema.CHAINS`).
"""

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from airrvec.errors import InputError
from airrvec.readers import airr_rearrangement, sceptr, tcrdist, tenx, vdjdb
from airrvec.readers._table import MalformedRow, read_header, read_table

FORMATS: dict[str, ModuleType] = {
    reader.NAME: reader for reader in (airr_rearrangement, tenx, vdjdb, sceptr, tcrdist)
}


@dataclass(frozen=True)
class Chains:
    """
    The chains of a file.

    Attributes
    ----------
    table : pyarrow.Table
        Chain records (`airrvec.schema.CHAINS`), as the file spells them.
    n_rows : int
        Rows in the file.
    malformed : list of MalformedRow
        Rows that do not fit the header.
    format : str
        Name of the format.
    warnings : list of str
        What the user should know of the file.
    """

    table: pa.Table
    n_rows: int
    malformed: list[MalformedRow]
    format: str
    warnings: list[str]


def read_chains(path: str | Path, format: str | None = None) -> Chains:
    """
    Read the chains of a file.

    Parameters
    ----------
    path : str or Path
        The table, gzip allowed.
    format : str, optional
        A name in `FORMATS`; found from the header if not given.

    Raises
    ------
    InputError
        If the file cannot be read, is in no known format, or lacks a column of its format.
    """
    header, delimiter = read_header(path)
    reader = _named(path, format) if format else _sniffed(path, header)
    _check_header(path, reader, header, delimiter)
    columns = list(dict.fromkeys([*(name for layout in reader.LAYOUTS for name in layout), *reader.OPTIONAL]))
    text = read_table(path, columns)
    warnings = reader.warnings(header) if hasattr(reader, "warnings") else []
    return Chains(reader.chains(text.table), text.n_rows, text.malformed, reader.NAME, warnings)


def _named(path, format: str) -> ModuleType:
    if format not in FORMATS:
        raise InputError(
            f"there is no format '{format}'", file=path, fix=f"Known formats: {', '.join(FORMATS)}"
        )
    return FORMATS[format]


def _sniffed(path, header: list[str]) -> ModuleType:
    for reader in FORMATS.values():
        if any(set(layout) <= set(header) for layout in reader.LAYOUTS):
            return reader
    raise InputError(
        f"its columns ({', '.join(header[:8])}, …) are those of no known format",
        file=path,
        fix=f"Known formats and their columns are in docs/input.md: {', '.join(FORMATS)}",
    )


def _check_header(path, reader: ModuleType, header: list[str], delimiter: str) -> None:
    if any(set(layout) <= set(header) for layout in reader.LAYOUTS):
        return
    closest = min(reader.LAYOUTS, key=lambda layout: len(set(layout) - set(header)))
    missing = [name for name in closest if name not in header]
    if reader.DELIMITER not in (None, delimiter) and len(missing) == len(closest):
        names = {"\t": "tab", ",": "comma"}
        raise InputError(
            f"format '{reader.NAME}' is {names[reader.DELIMITER]}-separated, and this file is"
            f" {names[delimiter]}-separated",
            file=path,
            fix=f"Correct the column 'format' of the samplesheet; known formats: {', '.join(FORMATS)}",
        )
    raise InputError(
        f"missing, though format '{reader.NAME}' needs it"
        + (f"; so are {', '.join(missing[1:])}" if missing[1:] else ""),
        file=path,
        column=missing[0],
        fix=f"The file has: {', '.join(header[:12])}{', …' if len(header) > 12 else ''}",
    )
