"""Checks of all tables before the first task, shared by the pipeline and the command ``airrvec``."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.terminal import printable
from airrvec.input import reading
from airrvec.input.samplesheet import heads
from airrvec.input.samplesheet.sheet import Problem, Sample, Sheet
from airrvec.input.units import NOTHING, Given

import pyarrow as pa

BETWEEN_WARNINGS = " · "


@dataclass(frozen=True)
class Table:
    """
    A table of the run and its location.

    Attributes
    ----------
    part : {"sample", "labelled", "reference"}
    name : str
        ``sample_id`` of the table.
    where : str
        Place to name in error messages, e.g. ``samples.csv, row 2``.
    row : int
        Row of the samplesheet; 0 if there is none.
    path : Path or None
        None if the file is missing or is not inspected.
    problem : str or None
        Reason why there is no table.
    format : str or None
    column_map : Path or None
        Path of the column map.
    species : str
    max_unpacked : int
        As in `airrvec.input.reading.open_chains`.
    metadata : dict
        Further columns of the samplesheet.
    hla : str
        HLA of the donor, as in `airrvec.input.samplesheet.sheet.Sample`.
    unit : Given
        As in `airrvec.input.samplesheet.sheet.Sample`.
    """

    part: str
    name: str
    where: str
    row: int
    path: Path | None
    problem: str | None = None
    format: str | None = None
    column_map: Path | None = None
    species: str = "homosapiens"
    max_unpacked: int = reading.MAX_UNPACKED
    metadata: dict[str, str | None] = field(default_factory=dict)
    hla: str = ""
    unit: Given = NOTHING


def check(tables: list[Table]) -> tuple[pa.Table, list[Problem]]:
    """
    Inspect the beginning of each table.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CHECKED`: one row per valid table; null if the table was not inspected.
    list of Problem
        All problems. A problem of a sample excludes the sample; a problem of another table ends the run.
    """
    rows, problems = [], []
    for table in tables:
        try:
            rows.append(_row(table))
        except InputError as error:
            separator = ", " if table.problem else ": "
            text = str(error).removesuffix(".")
            located = InputError(text if text.startswith(table.where) else f"{table.where}{separator}{text}")
            problems.append(Problem(located, table.name if table.part == "sample" else None, table.row))
    return pa.Table.from_pylist(rows, schema=schema.CHECKED), problems


def warnings(checked: pa.Table) -> list[str]:
    """Return the warnings of `airrvec.core.schema.CHECKED`, each with the name of its table."""
    return [
        f"{row['sample_id']}: {sentence}"
        for row in checked.select(["sample_id", "warnings"]).drop_null().to_pylist()
        for sentence in row["warnings"].split(BETWEEN_WARNINGS)
    ]


def locate_file(path: str, sheet: Path) -> Path | None:
    """Return the path of a file named in a samplesheet: in its folder, else the working folder; else None."""
    return next((file for file in (sheet.parent / path, Path(path)) if os.path.isfile(file)), None)


def tables_of(sheet: Sheet, common: Path | None) -> list[Table]:
    """
    Return the tables named in a samplesheet, located on this machine.

    Parameters
    ----------
    sheet : Sheet
    common : Path or None
        Column map for samples with neither a format nor a column map.
    """
    return [_located(sample, sheet.path, common) for sample in sheet.samples]


def _located(sample: Sample, sheet: Path, common: Path | None) -> Table:
    path = locate_file(sample.path, sheet)
    column_map = None if sample.format else common
    if sample.column_map:
        column_map = locate_file(sample.column_map, sheet)
    problem = None
    if path is None:
        problem = f"column 'path': there is no file '{sample.path}'"
    elif sample.column_map and column_map is None:
        problem = f"column 'column_map': there is no file '{sample.column_map}'"
    where = f"{sheet.name}, row {sample.row}"
    return Table(
        *(sample.role, sample.name, where, sample.row, path, problem),
        *(sample.format, column_map, sample.species),
        metadata=sample.metadata,
        hla=sample.hla,
        unit=sample.unit,
    )


def _row(table: Table) -> dict:
    if table.problem:
        raise InputError(table.problem)
    columns = reading.read_column_map(table.column_map) if table.column_map else None
    row = {"sample_id": table.name, "species": table.species}
    if table.path is None:
        return row
    row["table"] = table.path.name
    head = heads.look(table.path, table.format, columns, table.species, table.max_unpacked, table.unit)
    if head.format is None:
        return row
    species = ", ".join(sorted(head.species, key=head.species.get, reverse=True)) or None
    counts = {"rows": head.rows, "kept": head.kept, "share": head.share, **head.chains}
    counts |= head.unit.words
    counts["columns"] = head.roles or None
    counts["warnings"] = BETWEEN_WARNINGS.join(map(printable, head.doubts)) or None
    return {**row, "format": head.format, "species": species, **counts}
