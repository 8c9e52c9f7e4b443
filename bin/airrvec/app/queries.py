"""Queries of `airrvec find`: a receptor in words, or a table in any format."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from airrvec.app.query_text import query_table
from airrvec.core import schema
from airrvec.core.errors import InputError, no_file
from airrvec.input import reading
from airrvec.input.formats import sceptr
from airrvec.input.normalise import Normalised, normalise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True)
class Queries:
    """
    Receptors that are looked for.

    Attributes
    ----------
    names : list of str
        ``cell_id`` of each cell or clonotype of the table, its row if it has none; or the words.
    rows : ndarray of int64
        First row of each in the table.
    receptor : ndarray of int64
        Row of each in ``receptors``.
    receptors : pyarrow.Table
        `airrvec.core.schema.RECEPTORS`, distinct.
    problems : pyarrow.Table
        `airrvec.core.schema.NOT_FOUND`: rows, or chains, that could not be read.
    """

    names: list[str]
    rows: np.ndarray
    receptor: np.ndarray
    receptors: pa.Table
    problems: pa.Table


def read_queries(
    query: str, *, species: str, format: str | None = None, columns: Mapping | None = None
) -> Queries:
    """
    Read queries.

    Parameters
    ----------
    query : str
        Path of a table in any format, or a receptor in words (`airrvec.app.query_text`).
    species : str
        Species of rows that name none.
    format, columns
        Of the table, as for `airrvec.input.reading.open_chains`; detected if not given.

    Raises
    ------
    InputError
        If no receptor can be read.
    """
    if os.path.isfile(query):  # words may be too long for a path, which `Path.is_file` does not bear
        source = reading.open_chains(query, format, columns)
        return of_normalised(normalise(source, sample_id=Path(query).name, species=species))
    if "/" in query.split()[:1] or Path(query).suffix in (".tsv", ".csv", ".txt", ".gz", ".parquet"):
        raise no_file(query, fix="Give a table, or a receptor in words")
    batch = reading.Batch(reading.chains_of(sceptr, query_table(query, species)), 1, 1, [])
    try:
        result = normalise(reading.Source("words", [], iter([batch])), sample_id="query", species=species)
    except InputError as error:
        raise InputError(f"'{query}' cannot be read: {error.described['problem']}") from error
    return of_normalised(result, name=query)


def of_normalised(result: Normalised, name: str | None = None) -> Queries:
    """Return the receptors of a normalised table as queries; ``name``: of all, in place of their ids."""
    first = result.chains.group_by("cell_row").aggregate([("row", "min")]).sort_by("cell_row")
    rows = first["row_min"].to_numpy()
    given = result.cells["cell_id"].to_pylist()
    names = [name or cell or f"row {row}" for cell, row in zip(given, rows.tolist(), strict=True)]
    ids = result.receptors["receptor_id"].combine_chunks()
    receptor = pc.index_in(result.cells["receptor_id"].combine_chunks(), ids).to_numpy()
    rejects = result.rejects
    of_row = pc.binary_join_element_wise("row", rejects["row"].cast(pa.string()), " ")
    problems = pa.table(
        [
            pc.coalesce(rejects["cell_id"], pa.scalar(name, pa.string()), of_row),
            *(rejects[column] for column in ("row", "field", "value", "reason")),
            rejects["row_kept"],
        ],
        schema=schema.NOT_FOUND,
    )
    return Queries(names, rows, receptor.astype(np.int64), result.receptors, problems)
