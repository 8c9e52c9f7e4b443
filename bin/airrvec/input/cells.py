"""Cells with unique names, joined with the fields of their receptors."""

from collections.abc import Iterable
from functools import reduce
from pathlib import Path

from airrvec.core import schema
from airrvec.core.pages import check_pages

import duckdb
import pyarrow as pa


def with_unique_names(connection: duckdb.DuckDBPyConnection, path: str | Path) -> duckdb.DuckDBPyRelation:
    """
    Return the cells, numbered in file order (``cell``), each with a unique ``name``.

    The name is the cell_id, or the sample_id and the cell number if there is no cell_id. The second cell
    with a name gets the suffix ``_2``, the third ``_3``; more underscores if such a name is taken already.
    """
    columns = ("sample_id", "cell_id", "receptor_id", "duplicate_count", "umi_count", *schema.LABELS)
    check_pages(path)
    source = connection.read_parquet(str(path)).project(", ".join(columns))
    numbered = source.project("*, row_number() OVER () AS cell")
    named = numbered.project("*, coalesce(cell_id, sample_id || '_' || cell) AS name")
    return _made_unique(connection, named, "cells")


def names_across_samples(
    connection: duckdb.DuckDBPyConnection, paths: Iterable[str | Path]
) -> duckdb.DuckDBPyRelation:
    """
    Return a unique ``name`` for each cell of several samples, in the order of the files and their rows.

    The name is the sample_id and the cell_id, or the sample_id and the cell number if there is no cell_id.
    Names are unique first within each sample, as if it were alone, then across samples; suffixes are those
    of `with_unique_names`.
    """
    samples = []
    for number, path in enumerate(paths):
        check_pages(path)
        source = connection.read_parquet(str(path)).project("sample_id, cell_id")
        numbered = source.project("*, row_number() OVER () AS cell")
        named = numbered.project("*, sample_id || '_' || coalesce(cell_id, cell::VARCHAR) AS name")
        unique = _made_unique(connection, named, f"sample_{number}")
        samples.append(unique.project(f"cell_id, name, {number} AS sample, cell AS row"))
    together = reduce(duckdb.DuckDBPyRelation.union, samples)
    numbered = together.project("cell_id, name, row_number() OVER (ORDER BY sample, row) AS cell")
    return _made_unique(connection, numbered, "samples").order("cell").project("name")


def _made_unique(
    connection: duckdb.DuckDBPyConnection, named: duckdb.DuckDBPyRelation, table: str
) -> duckdb.DuckDBPyRelation:
    """Return cells with a suffix at repeated names; ``table``: name of the table made for them."""
    # Names given by the input take precedence over generated names.
    order = "PARTITION BY name ORDER BY cell_id IS NULL, cell"
    named.project(f"*, row_number() OVER ({order}) AS repeat").create(table)
    cells = connection.table(table)
    first = cells.filter("repeat = 1").set_alias("first")
    again = cells.filter("repeat > 1").set_alias("again")
    mark = "_"
    while len(again.join(first, f"first.name = again.name || '{mark}' || again.repeat").limit(1)):
        mark += "_"
    unique = f"if(repeat = 1, name, name || '{mark}' || repeat)"
    return cells.project(f"* REPLACE ({unique} AS name)")


def join_receptors(cells: pa.Table, receptors: pa.Table) -> pa.Table:
    """
    Join cells with the fields of their receptors.

    Parameters
    ----------
    cells : pyarrow.Table
        `airrvec.core.schema.CELLS` and metadata.
    receptors : pyarrow.Table
        Receptor of each cell, in the order of ``cells``.

    Returns
    -------
    pyarrow.Table
        Columns of ``cells``, then the receptor columns that ``cells`` lacks. A metadata column with an
        empty name, or with the name of a receptor column, gets the suffix ``_sample``.
    """
    fields = receptors.drop_columns([name for name in receptors.column_names if name in schema.CELLS.names])
    taken = {*cells.column_names, *fields.column_names}
    names = [
        free_name(name, taken) if not name or name in fields.column_names else name
        for name in cells.column_names
    ]
    joined = cells.rename_columns(names)
    for name in fields.column_names:
        joined = joined.append_column(name, fields[name])
    return joined


def observations(samples: list[pa.Table], receptors: pa.Table, description: pa.Table) -> pa.Table:
    """
    Return labels, metadata and receptors of the cells of one or more samples, a row each.

    Parameters
    ----------
    samples : list of pyarrow.Table
        `airrvec.core.schema.CELLS` and metadata of each sample; metadata that a sample lacks are null.
    receptors : pyarrow.Table
        Receptor of each cell, in their order.
    description : pyarrow.Table
        Of ``bin/describe_cells.py``; its names of cells are left out.
    """
    for name in description.column_names:
        if name not in ("name", "barcode"):
            receptors = receptors.append_column(name, description[name])
    return join_receptors(pa.concat_tables(samples, promote_options="default"), receptors)


def free_name(name: str, taken: set[str]) -> str:
    """Return the name, with a suffix if it is empty or in ``taken``, and add it to ``taken``."""
    while not name or name in taken:
        name += "_sample"
    taken.add(name)
    return name
