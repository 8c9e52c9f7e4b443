"""
Reading of receptor chains from files of any format.

A *container* is a file type: text, Parquet, JSON, AnnData (`airrvec.input.files`). It is detected from
the first bytes and returns named columns of strings. A *format* reads such columns from any container.
Each format is one module in the registry (`airrvec.input.formats.registry`), with

- ``NAME``, ``TITLE``, and ``DELIMITER`` of a text (None: tab or comma),
- ``LAYOUTS``: tuples of required columns; a file must have all columns of one tuple,
- ``OPTIONAL``: columns used if present,
- optionally ``further(columns)``: returns those of a file's columns that are used too, where names differ
  from file to file; every row of a text must reach them,
- optionally ``CLOSED``: if True, a table with any other column is not recognised as this format,
- optionally ``NEEDED``: for each layout, the columns that every row of a text must reach, if not all,
- optionally ``HEADER_ROWS``: allowed numbers of header lines of a text; the names of two are joined,
- ``ROW``: what a row is, as in `airrvec.input.units.unit_of`,
- ``chains(table)``: converts a block of rows, as strings, to chain records
  (`airrvec.core.schema.CHAIN_RECORDS`),
- optionally ``ROLES``: names of the columns of cell, counts and flags, or a function ``roles(table)`` that
  chooses them (`airrvec.input.roles.choose_for`); ``chains(table, roles)`` then has them as an argument,
- optionally ``warnings(columns)``: returns warnings for a file with these columns.
"""

import codecs
import queue
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from airrvec.core.errors import InputError
from airrvec.input.files.anndata_table import MAGIC as ANNDATA_MAGIC
from airrvec.input.files.anndata_table import AnnDataTable
from airrvec.input.files.container import (
    DAMAGED,
    MAX_UNPACKED,
    Container,
    MalformedRow,
    damaged,
    open_bytes,
    read_beginning,
    release_note,
)
from airrvec.input.files.json_table import read_json
from airrvec.input.files.parquet_table import MAGIC as PARQUET_MAGIC
from airrvec.input.files.parquet_table import ParquetTable
from airrvec.input.files.text_table import read_header
from airrvec.input.formats.column_map import MappedColumns, read_column_map
from airrvec.input.formats.registry import (
    FORMATS,
    check_columns,
    check_map,
    detect_format,
    format_by_name,
    matching_header_rows,
)
from airrvec.input.role_names import names_of_roles, plain
from airrvec.input.roles import Roles, Unread, choose_for, unread_values, with_unused
from airrvec.input.suggestion import suggest_column_map, unknown_layout
from airrvec.input.units import NOTHING, DeclaredUnit, Unit, unit_of

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

REPEATED_HEADER = "repeats the header; cells after it are others than those before, whatever their names"


def without_headers(
    table: pa.Table, needed: tuple[str, ...], names: list[str], path: str | Path
) -> tuple[pa.Table, list[MalformedRow]]:
    """
    Return the table without rows that repeat the header, and these as malformed rows.

    Parameters
    ----------
    table : pyarrow.Table
        Columns of strings, and ``row``.
    needed : tuple of str
        Columns that every row has: a row is a header if most of them hold the name of a column.
    names : list of str
        All columns of the file.
    path : str or Path
        Path of the file, for messages.

    Raises
    ------
    InputError
        If the names are in another order than in the header, or others: the rows after them would be misread.
    """
    needed = tuple(name for name in needed if name)
    spellings = pa.array(sorted({spelling for name in names for spelling in _spellings(name)}))
    texts = (pc.ascii_lower(pc.ascii_trim_whitespace(table[name])) for name in needed)
    is_name = [pc.is_in(text, spellings).cast(pa.int16()) for text in texts]
    is_header = pc.greater(reduce(pc.add, is_name), len(needed) // 2)
    if not pc.any(is_header).as_py():
        return table, []
    headers = table.filter(is_header).to_pylist()
    for header in headers:
        row = header.pop("row")
        for name, value in header.items():
            if name and value is not None and plain(value) != plain(name):
                raise InputError(
                    f"the row is another header, which names '{value}' where the first names '{name}'",
                    file=path,
                    row=row,
                    fix="Tables with columns in another order were joined: give each as a sample of its own",
                )
    rows = table["row"].filter(is_header).to_pylist()
    return table.filter(pc.invert(is_header)), [MalformedRow(row, REPEATED_HEADER) for row in rows]


def after_headers(chains: pa.Table, headers: list[int]) -> pa.Table:
    """Tell cells apart that have one name in two tables, of which a repeated header begins the second."""
    if not headers:
        return chains
    part = pa.array(np.searchsorted(headers, chains["row"].to_numpy()).astype(str), pa.string())
    keys = pc.binary_join_element_wise(chains["cell_key"], part, "\0", null_handling="emit_null")
    return chains.set_column(chains.schema.get_field_index("cell_key"), "cell_key", keys)


def _spellings(name: str) -> list[str]:
    """Return a name as headers repeat it, in small letters: after a mark, or spelled otherwise."""
    words = re.findall("[a-z0-9]+", name.lower())
    spellings = {name.lower(), *(between.join(words) for between in ("", " ", "_", ".", "-"))} - {""}
    return [mark + spelling for mark in ("", "#", "\ufeff", "\ufeff#") for spelling in spellings]


# --- Iterator that works ahead in a thread

Item = TypeVar("Item")

_END = object()


def prefetch(items: Iterator[Item], ahead: int = 1) -> Iterator[Item]:
    """
    Yield the same items, made by a thread while the consumer works on earlier items.

    The thread ends before Python does, even if the consumer never takes the last item.

    Parameters
    ----------
    items : iterator
        Items to yield. An exception is raised in the consumer, after the items before it.
    ahead : int
        Maximum number of items that wait.
    """
    waiting: queue.Queue = queue.Queue(maxsize=ahead)
    stopped = threading.Event()

    def wanted() -> bool:
        return not stopped.is_set() and threading.main_thread().is_alive()

    def put(thing) -> None:
        while wanted():
            try:
                waiting.put(thing, timeout=0.1)
                return
            except queue.Full:
                continue

    def make() -> None:
        try:
            for item in items:
                put(item)
                if not wanted():
                    return
            put(_END)
        except BaseException as error:  # raised again in the consumer
            put(error)

    # Python waits for this thread: a daemon could still read a file during shutdown and abort Python.
    thread = threading.Thread(target=make, daemon=False)
    thread.start()
    try:
        while (thing := waiting.get()) is not _END:
            if isinstance(thing, BaseException):
                raise thing
            yield thing
    finally:
        stopped.set()
        thread.join()


# --- Reading of receptor chains from files of any format

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
    Chains of consecutive rows of a file; all chains of a row are in one batch.

    Attributes
    ----------
    chains : pyarrow.Table
        Chain records (`airrvec.core.schema.CHAIN_RECORDS`), as spelled in the file.
    first_row, n_rows : int
        First row and number of rows of the file in this batch.
    malformed : list of MalformedRow
        Rows that do not match the header, or that a column map excludes.
    n_filled : int
        Number of rows whose missing last cells were read as empty.
    roles : Roles
        Columns of the file by their role, if its reader chooses them.
    unit : callable
        Chains of the first rows that are kept → what a row of the file is, and what its abundance counts.
    unread : list of Unread
        Counts and flags that cannot be read.
    """

    chains: pa.Table
    first_row: int
    n_rows: int
    malformed: list[MalformedRow]
    n_filled: int = 0
    roles: Roles = field(default_factory=Roles)
    unit: Callable[[pa.Table], Unit] = lambda chains: Unit()
    unread: list[Unread] = field(default_factory=list)


@dataclass(frozen=True)
class Source:
    """
    A file with a known format.

    Attributes
    ----------
    format : str
        Name of the format.
    warnings : list of str
        Warnings for the user.
    batches : iterator of Batch
        Chains in file order; can be read once.
    suggest : callable
        Species → another column map, as JSON, that reads the first rows, or None.
    """

    format: str
    warnings: list[str]
    batches: Iterator[Batch]
    suggest: Callable[[str], str | None] = lambda species: None


def open_chains(
    path: str | Path,
    format: str | None = None,
    columns: Mapping[str, Any] | None = None,
    max_unpacked: int = MAX_UNPACKED,
    unit: DeclaredUnit = NOTHING,
) -> Source:
    """
    Open a file of receptor chains.

    Parameters
    ----------
    path : str or Path
        Text, Parquet, JSON, AnnData or MuData.
    format : str, optional
        A name in `FORMATS`; detected from the columns if not given.
    columns : dict, optional
        A column map, as from `read_column_map`, instead of a format.
    max_unpacked : int
        Maximum number of unpacked bytes held in memory at once: a compressed Parquet or AnnData file, an
        element of AnnData, the records of JSON.
    unit : Given
        What a row is and what is counted, in place of what the format and the columns say.

    Raises
    ------
    InputError
        If the file cannot be read, has no known format, or lacks a column of its format; also while
        the batches are read.
    """
    container = _container(path, max_unpacked)
    reader: MappedColumns | ModuleType | None
    if columns is not None:
        reader = MappedColumns(columns)
        check_map(path, columns, container)
    else:
        reader = format_by_name(path, format) if format else detect_format(path, container)
        if reader is None:
            raise unknown_layout(path, container)
        check_columns(path, reader, container)
    header_rows = matching_header_rows(reader, container) or 1
    warnings = reader.warnings(container.names(header_rows)) if hasattr(reader, "warnings") else []
    batches = prefetch(_batches(reader, container, header_rows, unit, path))
    if note := release_note(path):
        warnings = [note, *warnings]
    return Source(reader.NAME, warnings, batches, partial(suggest_column_map, container, header_rows))


def beginning(
    path: str | Path, folder: Path, n_bytes: int = 1 << 20, max_unpacked: int = MAX_UNPACKED
) -> tuple[Path, float]:
    """
    Write the first rows of a table to a file, for a quick look at a large table.

    Parameters
    ----------
    path : str or Path
        As in `open_chains`.
    folder : Path
        Output folder.
    n_bytes : int
        Unpacked bytes of a text to read.
    max_unpacked : int
        As in `open_chains`.

    Returns
    -------
    Path
        File in the format of the table, empty if its first rows are longer than ``n_bytes``; the table itself
        if it is small, JSON or AnnData.
    float
        Estimated share of the table in this file, from 0 to 1.

    Raises
    ------
    InputError
        If the file cannot be read.
    """
    path, part = Path(path), folder / Path(path).name
    try:
        content, share = read_beginning(path, n_bytes)
    except DAMAGED as error:
        raise damaged(path, error) from error
    start = content[:1024].removeprefix(codecs.BOM_UTF8).lstrip()
    if share == 1 or start.startswith((*ANNDATA_MAGIC, b"[", b"{")):
        return path, 1.0
    if start.startswith(PARQUET_MAGIC):
        return part, ParquetTable(path, max_unpacked).write_beginning(part)
    complete = content[: content.rfind(b"\n") + 1]
    if complete.count(b"\n") == 1:  # a header, and a row that is longer than n_bytes
        complete = b""
    part.write_bytes(complete)
    return part, share * len(complete) / len(content)


def _container(path: str | Path, max_unpacked: int) -> Container:
    """Open a file as the container that its first bytes indicate."""
    with open_bytes(path) as handle:
        try:
            start = handle.read(1024)
        except DAMAGED as error:
            raise damaged(path, error) from error
    if start.startswith(PARQUET_MAGIC):
        return ParquetTable(path, max_unpacked)
    if start.startswith(ANNDATA_MAGIC):
        return AnnDataTable(path, max_unpacked)
    if start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in (b"[", b"{"):
        return read_json(path, max_unpacked)
    return read_header(path)


def _batches(
    reader, container: Container, header_rows: int, declared: DeclaredUnit, path: str | Path
) -> Iterator[Batch]:
    names = container.names(header_rows)
    further = reader.further(names) if hasattr(reader, "further") else ()
    known = (*(name for layout in reader.LAYOUTS for name in layout), *reader.OPTIONAL)
    role_columns = names_of_roles(names, getattr(reader, "ROLES", {})) if has_roles(reader) else ()
    columns = list(dict.fromkeys([*known, *further, *role_columns]))
    layouts = getattr(reader, "NEEDED", reader.LAYOUTS)
    needed = (*next(layout for layout in layouts if set(names).issuperset(layout)), *further)
    first_row, roles, headers = 1, None, []
    for text in container.batches(columns, header_rows, needed):
        table, repeated = without_headers(text.table, needed, names, path)
        table, excluded = _selected(reader, table)
        headers += [bad.row for bad in repeated]
        malformed = [*text.malformed, *excluded, *repeated]
        roles = roles or _roles(reader, table, path)
        chains = after_headers(chains_of(reader, table, roles), headers)
        unread = unread_values(table, roles)
        unit = partial(unit_of, roles=roles, row=reader.ROW, declared=declared)
        yield Batch(chains, first_row, text.n_rows, malformed, text.n_filled, roles, unit, unread)
        first_row += text.n_rows


def _roles(reader, table: pa.Table, path: str | Path) -> Roles:
    try:
        return with_unused(reader, table, choose_for(reader, table))
    except InputError as error:
        raise InputError(**error.described | {"file": path}) from error


def has_roles(reader) -> bool:
    return hasattr(reader, "roles") or hasattr(reader, "ROLES")


def chains_of(reader, table: pa.Table, roles: Roles | None = None) -> pa.Table:
    """Return the chain records of a block of rows."""
    if not has_roles(reader):
        return reader.chains(table)
    return reader.chains(table, roles or choose_for(reader, table))


def _selected(reader, table: pa.Table) -> tuple[pa.Table, list[MalformedRow]]:
    """Return the rows that the reader selects, and all others as malformed rows."""
    if not hasattr(reader, "is_read"):
        return table, []
    selected = reader.is_read(table)
    rows = table["row"].filter(pc.invert(selected)).unique().to_pylist()
    return table.filter(selected), [MalformedRow(row, "excluded by the column map") for row in rows]
