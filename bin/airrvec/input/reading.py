"""
Input formats: one file each, one registry (`airrvec.input.formats.registry`).

A *container* is a kind of file: text, Parquet, JSON, AnnData (``_table``, ``_parquet``, ``_json``,
``_anndata``). It is known by its first bytes, and gives named columns of strings. A *format* is a reader
of such columns, whatever file they are from: a module with

- ``NAME``, ``TITLE``, and ``DELIMITER`` of its text (None: tab or comma),
- ``LAYOUTS``: tuples of the columns that it needs; a file has to have those of one of them,
- ``OPTIONAL``: columns that it uses where they are there,
- optionally ``CLOSED``: whether a table with any other column is not recognised as its,
- optionally ``NEEDED``: of each layout the columns that every row of a text must reach, if not all of it,
- optionally ``HEADER_ROWS``: how many lines a text's header may have; the names of two are joined,
- ``chains(table)``: a block of the file's rows, as strings, to chain records
  (`airrvec.core.schema.CHAIN_RECORDS`),
- optionally ``warnings(columns)``: what the user should know of a file with these columns.
"""

import codecs
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from airrvec.input.files.anndata_table import MAGIC as ANNDATA_MAGIC
from airrvec.input.files.anndata_table import AnnDataTable
from airrvec.input.files.container import (
    MAX_UNPACKED,
    Container,
    MalformedRow,
    damaged,
    open_bytes,
    read_beginning,
)
from airrvec.input.files.json_table import read_json
from airrvec.input.files.parquet_table import MAGIC as PARQUET_MAGIC
from airrvec.input.files.parquet_table import ParquetTable
from airrvec.input.files.prefetch import prefetched
from airrvec.input.files.text_table import read_header
from airrvec.input.formats.column_map import MappedColumns, read_column_map
from airrvec.input.formats.registry import FORMATS, check_columns, check_map, fitting, named, sniffed
from airrvec.input.suggestion import suggested_map

__all__ = [
    "FORMATS",
    "MAX_UNPACKED",
    "Batch",
    "MalformedRow",
    "Source",
    "beginning",
    "open_chains",
    "read_column_map",
]


@dataclass(frozen=True)
class Batch:
    """
    Chains of some rows of a file; all chains of a row are in one batch.

    Attributes
    ----------
    chains : pyarrow.Table
        Chain records (`airrvec.core.schema.CHAIN_RECORDS`), as the file spells them.
    first_row, n_rows : int
        The rows of the file that the batch stands for.
    malformed : list of MalformedRow
        Rows that do not fit the header, or that a column map leaves out.
    n_filled : int
        Rows whose last cells are missing in the file, and were taken as empty.
    """

    chains: pa.Table
    first_row: int
    n_rows: int
    malformed: list[MalformedRow]
    n_filled: int = 0


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
    suggest : callable
        A species → a column map, as JSON, with which the first rows can be read otherwise; None if
        there is none.
    """

    format: str
    warnings: list[str]
    batches: Iterator[Batch]
    suggest: Callable[[str], str | None] = lambda species: None


def open_chains(
    path: str | Path,
    format: str | None = None,
    columns: dict[str, str] | None = None,
    max_unpacked: int = MAX_UNPACKED,
) -> Source:
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
    max_unpacked : int
        Bytes that what is held in memory at once may take unpacked: a packed Parquet or AnnData file, an
        element of AnnData, the records of JSON.

    Raises
    ------
    InputError
        If the file cannot be read, is in no known format, or lacks a column of its format; reading
        the batches may raise it too.
    """
    container = _container(path, max_unpacked)
    if columns is not None:
        reader = MappedColumns(columns)
        check_map(path, columns, container)
    else:
        reader = named(path, format) if format else sniffed(path, container)
        check_columns(path, reader, container)
    header_rows = fitting(reader, container) or 1
    warnings = reader.warnings(container.names(header_rows)) if hasattr(reader, "warnings") else []
    batches = prefetched(_batches(reader, container, header_rows))
    return Source(reader.NAME, warnings, batches, partial(suggested_map, container, header_rows))


def beginning(
    path: str | Path, folder: Path, n_bytes: int = 1 << 20, max_unpacked: int = MAX_UNPACKED
) -> tuple[Path, float]:
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
    max_unpacked : int
        As for `open_chains`.

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
    path, part = Path(path), folder / Path(path).name
    try:
        content, share = read_beginning(path, n_bytes)
    except (EOFError, OSError, zlib.error) as error:
        raise damaged(path) from error
    start = content[:1024].removeprefix(codecs.BOM_UTF8).lstrip()
    if share == 1 or start.startswith((*ANNDATA_MAGIC, b"[", b"{")):
        return path, 1.0
    if start.startswith(PARQUET_MAGIC):
        return part, ParquetTable(path, max_unpacked).write_beginning(part)
    complete = content[: content.rfind(b"\n") + 1]
    part.write_bytes(complete)
    return part, share * len(complete) / len(content)


def _container(path: str | Path, max_unpacked: int) -> Container:
    """Open a file by what it is, which its first bytes say."""
    with open_bytes(path) as handle:
        try:
            start = handle.read(1024)
        except (EOFError, OSError, zlib.error) as error:
            raise damaged(path) from error
    if start.startswith(PARQUET_MAGIC):
        return ParquetTable(path, max_unpacked)
    if start.startswith(ANNDATA_MAGIC):
        return AnnDataTable(path, max_unpacked)
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{"):
        return read_json(path, max_unpacked)
    return read_header(path)


def _batches(reader, container: Container, header_rows: int) -> Iterator[Batch]:
    columns = list(dict.fromkeys([*(name for layout in reader.LAYOUTS for name in layout), *reader.OPTIONAL]))
    names = set(container.names(header_rows))
    needed = next(layout for layout in getattr(reader, "NEEDED", reader.LAYOUTS) if names.issuperset(layout))
    first_row = 1
    for text in container.batches(columns, header_rows, needed):
        table, left_out = _chosen(reader, text.table)
        malformed = [*text.malformed, *left_out]
        yield Batch(reader.chains(table), first_row, text.n_rows, malformed, text.n_filled)
        first_row += text.n_rows


def _chosen(reader, table: pa.Table) -> tuple[pa.Table, list[MalformedRow]]:
    """The rows that the reader takes, and the others."""
    if not hasattr(reader, "is_read"):
        return table, []
    chosen = reader.is_read(table)
    rows = table["row"].filter(pc.invert(chosen)).unique().to_pylist()
    return table.filter(chosen), [MalformedRow(row, "the column map leaves it out") for row in rows]
