"""
Input formats: one file each, one registry.

A *container* is a kind of file: text, Parquet, JSON, AnnData (``_table``, ``_parquet``, ``_json``,
``_anndata``). It is known by its first bytes, and gives named columns of strings. A *format* is a reader
of such columns, whatever file they are from: a module with

- ``NAME``, ``TITLE``, and ``DELIMITER`` of its text (None: tab or comma),
- ``LAYOUTS``: tuples of the columns that it needs; a file has to have those of one of them,
- ``OPTIONAL``: columns that it uses where they are there,
- optionally ``HEADER_ROWS``: how many lines a text's header may have; the names of two are joined,
- ``chains(table)``: a block of the file's rows, as strings, to chain records (`airrvec.schema.CHAINS`),
- optionally ``warnings(columns)``: what the user should know of a file with these columns.
"""

import codecs
import zlib
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
    scirpy,
    tcrdist,
    tenx,
    tenx_clonotypes,
    trust4,
    vdjdb,
    vdjtools,
)
from airrvec.readers._anndata import MAGIC as ANNDATA_MAGIC
from airrvec.readers._anndata import AnnDataTable
from airrvec.readers._columns import MappedColumns, read_column_map
from airrvec.readers._container import Container, MalformedRow, damaged, open_bytes, read_beginning
from airrvec.readers._json import read_json
from airrvec.readers._parquet import MAGIC as PARQUET_MAGIC
from airrvec.readers._parquet import ParquetTable
from airrvec.readers._prefetch import prefetched
from airrvec.readers._table import read_header

__all__ = ["FORMATS", "Batch", "MalformedRow", "Source", "beginning", "open_chains", "read_column_map"]

FORMATS: dict[str, ModuleType] = {
    reader.NAME: reader
    for reader in (
        airr_rearrangement,
        tenx,
        tenx_clonotypes,
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
        scirpy,
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


def open_chains(path: str | Path, format: str | None = None, columns: dict[str, str] | None = None) -> Source:
    """
    Open a file of receptor chains.

    Parameters
    ----------
    path : str or Path
        Text, Parquet, JSON, AnnData or MuData.
    format : str, optional
        A name in `FORMATS`; found from the columns if not given.
    columns : dict, optional
        A column map, as from `read_column_map`, in place of a format.

    Raises
    ------
    InputError
        If the file cannot be read, is in no known format, or lacks a column of its format; reading
        the batches may raise it too.
    """
    container = _container(path)
    if columns is not None:
        reader = MappedColumns(columns)
        _check_map(path, columns, container)
    else:
        reader = _named(path, format) if format else _sniffed(path, container)
        _check_columns(path, reader, container)
    header_rows = _fitting(reader, container) or 1
    warnings = reader.warnings(container.names(header_rows)) if hasattr(reader, "warnings") else []
    return Source(reader.NAME, warnings, prefetched(_batches(reader, container, header_rows)))


def beginning(path: str | Path, folder: Path, n_bytes: int = 1 << 20) -> tuple[Path, float]:
    """
    A file with the first rows of a table, for a look at a table that may be large.

    Parameters
    ----------
    path : str or Path
        As for `open_chains`.
    folder : Path
        Where the file is written.
    n_bytes : int
        How much of a text is read, unpacked.

    Returns
    -------
    Path
        In the format of the table; the table itself where it is small, JSON or AnnData.
    float
        The share of the table that it holds, estimated, from 0 to 1.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    path, part = Path(path), folder / "beginning"
    try:
        content, share = read_beginning(path, n_bytes)
    except (EOFError, OSError, zlib.error) as error:
        raise damaged(path) from error
    start = content[:1024].removeprefix(codecs.BOM_UTF8).lstrip()
    if share == 1 or start.startswith((*ANNDATA_MAGIC, b"[", b"{")):
        return path, 1.0
    if start.startswith(PARQUET_MAGIC):
        return part, ParquetTable(path).write_beginning(part)
    complete = content[: content.rfind(b"\n") + 1]
    part.write_bytes(complete)
    return part, share * len(complete) / len(content)


def _container(path: str | Path) -> Container:
    """Open a file by what it is, which its first bytes say."""
    with open_bytes(path) as handle:
        try:
            start = handle.read(1024)
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(path) from error
    if start.startswith(PARQUET_MAGIC):
        return ParquetTable(path)
    if start.startswith(ANNDATA_MAGIC):
        return AnnDataTable(path)
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{"):
        return read_json(path)
    return read_header(path)


def _fitting(reader, container: Container) -> int | None:
    """How many rows the header has, if the reader's columns are there."""
    for header_rows in getattr(reader, "HEADER_ROWS", (1,)):
        names = set(container.names(header_rows))
        if any(names.issuperset(layout) for layout in reader.LAYOUTS):
            return header_rows
    return None


def _batches(reader, container: Container, header_rows: int) -> Iterator[Batch]:
    needed = [name for layout in reader.LAYOUTS for name in layout]
    columns = list(dict.fromkeys([*needed, *reader.OPTIONAL]))
    first_row = 1
    for text in container.batches(columns, header_rows):
        yield Batch(reader.chains(text.table), first_row, text.n_rows, text.malformed)
        first_row += text.n_rows


def _named(path, format: str) -> ModuleType:
    if format not in FORMATS:
        raise InputError(
            f"there is no format '{format}'", file=path, fix=f"Known formats: {', '.join(FORMATS)}"
        )
    return FORMATS[format]


def _sniffed(path, container: Container) -> ModuleType:
    for reader in FORMATS.values():
        if _fitting(reader, container):
            return reader
    raise InputError(
        f"its columns ({_shown(container.names(), 8)}) are those of no known format",
        file=path,
        fix=f"Known formats and their columns are in docs/input.md: {', '.join(FORMATS)};"
        " any other table can be read with a column map, --columns",
    )


def _check_columns(path, reader: ModuleType, container: Container) -> None:
    if _fitting(reader, container):
        return
    names = container.names(max(getattr(reader, "HEADER_ROWS", (1,))))
    closest = min(reader.LAYOUTS, key=lambda layout: len(set(layout) - set(names)))
    missing = [name for name in closest if name not in names]
    wrong_text = container.delimiter and reader.DELIMITER not in (None, container.delimiter)
    if wrong_text and len(missing) == len(closest):
        words = {"\t": "tab", ",": "comma"}
        raise InputError(
            f"format '{reader.NAME}' is {words[reader.DELIMITER]}-separated, and this file is"
            f" {words[container.delimiter]}-separated",
            file=path,
            fix=f"Correct the column 'format' of the samplesheet; known formats: {', '.join(FORMATS)}",
        )
    raise InputError(
        f"missing, though format '{reader.NAME}' needs it"
        + (f"; so are {', '.join(missing[1:])}" if missing[1:] else ""),
        file=path,
        column=missing[0],
        fix=f"The file has: {_shown(names, 12)}",
    )


def _check_map(path, columns: dict[str, str], container: Container) -> None:
    names = container.names()
    for field, name in columns.items():
        if name not in names:
            raise InputError(
                f"missing, though the column map gives it as {field}",
                file=path,
                column=name,
                fix=f"Correct the column map; the file has: {_shown(names, 12)}",
            )


def _shown(names: list[str], n: int) -> str:
    return ", ".join(names[:n]) + (", …" if len(names) > n else "")
