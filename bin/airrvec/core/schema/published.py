"""Columns with their meaning, and the tables that users get, each said once."""

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa

_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_LINK_IN_PARENTHESES = re.compile(rf" \({_LINK.pattern}\)")  # in parentheses, with nothing else to say
NEVER = "never"


@dataclass(frozen=True)
class Column:
    """
    A column of a table.

    Parameters
    ----------
    name : str
    type : pyarrow.DataType
    meaning : str
        Markdown; links are relative to ``docs/``.
    null : str
        When a value is missing, in Markdown; `NEVER` if every row has one.
    unit : str
        Of a number; empty if it has none.

    Examples
    --------
    >>> column = float64("share", "Share of [cells](output.md#cells)", null="no cell")
    >>> column.text, column.type_name, column.null
    ('Share of cells', 'float64', 'no cell')
    """

    name: str
    type: pa.DataType
    meaning: str
    null: str = NEVER
    unit: str = ""

    def but(self, **changes: str) -> "Column":
        """Return the column with another name, meaning, null rule or unit."""
        return replace(self, **changes)

    @property
    def type_name(self) -> str:
        """The type, by the name that numpy and polars use too."""
        return {"double": "float64", "float": "float32"}.get(str(self.type), str(self.type))

    @property
    def text(self) -> str:
        """The meaning without the targets of its links."""
        return without_links(self.meaning)

    @property
    def field(self) -> pa.Field:
        """The Arrow field, with ``description``, ``null`` and, if there is one, ``unit`` as metadata."""
        about = {"description": self.text, "null": without_links(self.null)}
        return pa.field(self.name, self.type, metadata=about | ({"unit": self.unit} if self.unit else {}))


@dataclass(frozen=True)
class Table:
    """
    A table that users get.

    Parameters
    ----------
    name : str
        Name among all tables, of `airrvec columns`.
    file : str
        Its file in the results; ``<sample>`` and others stand for names.
    about : str
        What a row is, and the order of rows, in Markdown; links are relative to ``docs/``.
    columns : tuple of Column
        In their order.
    twin : bool
        Whether a TSV with the same content is beside the Parquet file.
    further : Column or None
        Any number of further columns, at the end.
    """

    name: str
    file: str
    about: str
    columns: tuple[Column, ...]
    twin: bool = False
    further: Column | None = None

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, without ``further``."""
        return pa.schema([(column.name, column.type) for column in self.columns])

    @property
    def all_columns(self) -> tuple[Column, ...]:
        """The columns, and ``further`` if there is one."""
        return self.columns if self.further is None else (*self.columns, self.further)

    def __getitem__(self, name: str) -> Column:
        """Return the column of this name."""
        return next(column for column in self.columns if column.name == name)


TABLES: dict[str, Table] = {}


def published(name: str, file: str, about: str, *columns: Column, **more) -> pa.Schema:
    """Enter a `Table` of these columns into `TABLES`, and return its schema."""
    if name in TABLES:
        raise ValueError(f"two tables have the name {name}")
    TABLES[name] = Table(name, file, about, columns, **more)
    return TABLES[name].schema


def string(name: str, meaning: str, null: str = NEVER) -> Column:
    return Column(name, pa.string(), meaning, null)


def boolean(name: str, meaning: str, null: str = NEVER) -> Column:
    return Column(name, pa.bool_(), meaning, null)


def int32(name: str, meaning: str, null: str = NEVER, unit: str = "") -> Column:
    return Column(name, pa.int32(), meaning, null, unit)


def int64(name: str, meaning: str, null: str = NEVER, unit: str = "") -> Column:
    return Column(name, pa.int64(), meaning, null, unit)


def float32(name: str, meaning: str, null: str = NEVER, unit: str = "") -> Column:
    return Column(name, pa.float32(), meaning, null, unit)


def float64(name: str, meaning: str, null: str = NEVER, unit: str = "") -> Column:
    return Column(name, pa.float64(), meaning, null, unit)


def without_links(markdown: str) -> str:
    """Return Markdown with the text of its links; a link that stands alone in parentheses goes."""
    return _LINK.sub(r"\1", _LINK_IN_PARENTHESES.sub("", markdown))


def described(table_schema: pa.Schema, path: str | Path) -> pa.Schema:
    """
    Return a schema whose fields carry the meaning, null rule and unit of their columns as metadata.

    Parameters
    ----------
    table_schema : pyarrow.Schema
        Of a table that is published, or of the first columns of one, as tasks pass them on. Another schema
        is returned as it is.
    path : str or Path
        File of the table; it and its folder decide between tables with the same columns.
    """
    table = _table_of(tuple(table_schema.names), Path(path).stem, Path(path).parent.name)
    if table is None:
        return table_schema
    columns = dict.fromkeys(table_schema.names, table.further) | {one.name: one for one in table.columns}
    fields = [
        field.with_metadata(column.but(name=field.name).field.metadata) if column else field
        for field in table_schema
        for column in [columns[field.name]]
    ]
    return pa.schema(fields, table_schema.metadata)


@cache
def _table_of(names: tuple[str, ...], stem: str, folder: str) -> Table | None:
    """Return the published table with these columns, that in this folder, then that with this name first."""
    matches = [table for table in TABLES.values() if _is_of(names, table)]
    in_folder = [table for table in matches if Path(table.file).parts[0] == folder] or matches
    return next(
        (table for table in in_folder if Path(table.file).stem == stem), in_folder[0] if matches else None
    )


def _is_of(names: tuple[str, ...], table: Table) -> bool:
    fixed = tuple(column.name for column in table.columns)
    if table.further:
        return names[: len(fixed)] == fixed
    return len(names) > 1 and names == fixed[: len(names)]
