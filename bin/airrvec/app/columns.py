"""The verb ``columns``: what the columns of the tables mean."""

import argparse
import difflib
import shutil
import textwrap

from airrvec.core.errors import InputError
from airrvec.core.schema import NEVER, TABLES, Column, Table
from airrvec.core.schema.published import without_links
from airrvec.core.tables import json_text
from airrvec.core.terminal import print_lines

_NARROWEST, _WIDEST = 60, 110  # characters of a line


def add_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of the verb ``columns``."""
    verb.add_argument("table", nargs="?", help="name of a table or of its file; none: list the tables")
    verb.add_argument("--json", action="store_true", help="as JSON")


def columns(args: argparse.Namespace) -> None:
    """Print all tables, or the columns of one."""
    tables = [table_named(args.table)] if args.table else sorted(TABLES.values(), key=lambda one: one.file)
    if args.json:
        described = [described_table(table, with_columns=bool(args.table)) for table in tables]
        text = json_text(described[0] if args.table else described, indent=2, ensure_ascii=False)
        print_lines(*text.splitlines())
    elif args.table:
        print_lines(*table_lines(tables[0]))
    else:
        width = max(len(table.name) for table in tables)
        print_lines(*(f"{table.name:{width}}  {table.file}" for table in tables))


def table_named(word: str) -> Table:
    """
    Return the table with a name, or the name or path of its file, e.g. ``comparison/tests.tsv``.

    Raises
    ------
    InputError
        No table has this name, or several have.
    """
    if word in TABLES:
        return TABLES[word]
    ending = "/" + word.removesuffix(".parquet").removesuffix(".tsv")
    stems = {name: "/" + table.file.rpartition(".")[0] for name, table in TABLES.items()}
    matches = [name for name, stem in stems.items() if ending.endswith(stem) or stem.endswith(ending)]
    if len(matches) == 1:
        return TABLES[matches[0]]
    if matches:
        raise InputError(f"several tables have the name '{word}'", fix=f"Name one of {', '.join(matches)}")
    near = difflib.get_close_matches(word, TABLES, 3, cutoff=0.4)
    nearest = f"The nearest names are {', '.join(near)}; " if near else ""
    raise InputError(f"no table has the name '{word}'", fix=f"{nearest}`airrvec columns` lists all tables")


def described_table(table: Table, *, with_columns: bool) -> dict:
    """Return a table as a dictionary, without the links of its texts."""
    about = {"name": table.name, "file": table.file, "tsv": table.twin}
    about["about"] = without_links(table.about)
    return about | ({"columns": [*map(_described, table.all_columns)]} if with_columns else {})


def table_lines(table: Table) -> list[str]:
    """Return the lines that show a table: file, rows, and type, unit, meaning and null rule of columns."""
    width = min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    lines = [f"{table.file}{' and .tsv' if table.twin else ''}"]
    lines += textwrap.wrap(without_links(table.about), width)
    for column in table.all_columns:
        unit = f", {column.unit}" if column.unit else ""
        null = "" if column.null == NEVER else f" Null: {without_links(column.null)}."
        lines += ["", f"{column.name}  ({column.type_name}{unit})"]
        text = f"{column.text.removesuffix('.')}.{null}"
        lines += textwrap.wrap(text, width, initial_indent="    ", subsequent_indent="    ")
    return lines


def _described(column: Column) -> dict:
    return {
        "name": column.name,
        "type": column.type_name,
        "unit": column.unit or None,
        "meaning": column.text,
        "null": without_links(column.null),
    }
