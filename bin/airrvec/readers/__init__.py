"""
Input formats: one file each, one registry.

A reader of tab- or comma-separated text is a module with

- ``NAME``, ``TITLE``, and ``DELIMITER`` (None: tab or comma),
- ``LAYOUTS``: tuples of the columns that it needs; a file has to have those of one of them,
- ``OPTIONAL``: columns that it uses where they are there,
- optionally ``HEADER_ROWS``, where the header is not one line; the names of the lines are joined,
- ``chains(table)``: a block of the file's rows, as strings, to chain records (`airrvec.schema.CHAINS`),
- optionally ``warnings(columns)``: what the user should know of a file with this header.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from airrvec.errors import InputError
from airrvec.readers import (
    airr_rearrangement,
    bd_rhapsody,
    iedb,
    immunoseq,
    mcpas,
    mixcr,
    parse,
    sceptr,
    tcrdist,
    tenx,
    trust4,
    vdjdb,
    vdjtools,
)
from airrvec.readers._prefetch import prefetched
from airrvec.readers._table import Header, MalformedRow, read_batches, read_header

FORMATS: dict[str, ModuleType] = {
    reader.NAME: reader
    for reader in (
        airr_rearrangement,
        tenx,
        vdjdb,
        sceptr,
        tcrdist,
        vdjtools,
        immunoseq,
        mixcr,
        bd_rhapsody,
        mcpas,
        iedb,
        trust4,
        parse,
    )
}


@dataclass(frozen=True)
class Batch:
    """
    Chains of some rows of a file; all chains of a row are in one batch.

    Attributes
    ----------
    chains : pyarrow.Table
        Chain records (`airrvec.schema.CHAINS`), as the file spells them.
    first_row, n_rows : int
        The rows of the file that the batch stands for.
    malformed : list of MalformedRow
        Rows that do not fit the header.
    """

    chains: pa.Table
    first_row: int
    n_rows: int
    malformed: list[MalformedRow]


@dataclass(frozen=True)
class Source:
    """
    A file whose format is known.

    Attributes
    ----------
    format : str
        Name of the format.
    warnings : list of str
        What the user should know of the file.
    batches : iterator of Batch
        The chains, in the file's order; can be read once.
    """

    format: str
    warnings: list[str]
    batches: Iterator[Batch]


def open_chains(path: str | Path, format: str | None = None) -> Source:
    """
    Open a file of receptor chains.

    Parameters
    ----------
    path : str or Path
        The table, gzip allowed.
    format : str, optional
        A name in `FORMATS`; found from the header if not given.

    Raises
    ------
    InputError
        If the file cannot be read, is in no known format, or lacks a column of its format; reading
        the batches may raise it too.
    """
    header = read_header(path)
    reader = _named(path, format) if format else _sniffed(path, header)
    names = _names(reader, header)
    _check_header(path, reader, names, header.delimiter)
    warnings = reader.warnings(names) if hasattr(reader, "warnings") else []
    return Source(reader.NAME, warnings, prefetched(_batches(path, reader, header)))


def _names(reader: ModuleType, header: Header) -> list[str]:
    return header.names(getattr(reader, "HEADER_ROWS", 1))


def _batches(path: str | Path, reader: ModuleType, header: Header) -> Iterator[Batch]:
    needed = [name for layout in reader.LAYOUTS for name in layout]
    columns = list(dict.fromkeys([*needed, *reader.OPTIONAL]))
    first_row = 1
    for text in read_batches(path, header, columns, header_rows=getattr(reader, "HEADER_ROWS", 1)):
        yield Batch(reader.chains(text.table), first_row, text.n_rows, text.malformed)
        first_row += text.n_rows


def _named(path, format: str) -> ModuleType:
    if format not in FORMATS:
        raise InputError(
            f"there is no format '{format}'", file=path, fix=f"Known formats: {', '.join(FORMATS)}"
        )
    return FORMATS[format]


def _sniffed(path, header: Header) -> ModuleType:
    for reader in FORMATS.values():
        if any(set(layout) <= set(_names(reader, header)) for layout in reader.LAYOUTS):
            return reader
    names = header.names()
    shown = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise InputError(
        f"its columns ({shown}) are those of no known format",
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
