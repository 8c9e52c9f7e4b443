"""All tables of a run, looked at before its first task: the pipeline's and the command's checks alike."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from airrvec.core.errors import InputError
from airrvec.input import reading
from airrvec.input.samplesheet import heads
from airrvec.input.samplesheet.sheet import Problem, Sample, Sheet

CHECKED = pa.schema(
    [
        *((name, pa.string()) for name in ("sample_id", "table", "format", "species")),
        *((name, pa.int64()) for name in ("rows", "kept", "paired", "alpha", "beta")),
        ("share", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Table:
    """
    A table of the run, where it lies.

    Attributes
    ----------
    part : {"sample", "labelled", "reference"}
    name : str
        The ``sample_id``.
    where : str
        What a problem is told to be of, e.g. ``samples.csv, row 2``.
    row : int
        Of the samplesheet; 0 where it is of none.
    path : Path or None
        None where there is none, or where it is not looked at.
    problem : str or None
        Why there is no table.
    format : str or None
    columns : Path or None
        Of the column map.
    species : str
    """

    part: str
    name: str
    where: str
    row: int
    path: Path | None
    problem: str | None = None
    format: str | None = None
    columns: Path | None = None
    species: str = "homosapiens"
    max_unpacked: int = reading.MAX_UNPACKED


def check(tables: list[Table]) -> tuple[pa.Table, list[Problem]]:
    """
    Look at the beginning of each table.

    Returns
    -------
    pyarrow.Table
        `CHECKED`: a row a table that nothing is wrong with; null where it was not looked at.
    list of Problem
        All that is wrong. One of a sample keeps it out, one of another table ends the run.
    """
    rows, problems = [], []
    for table in tables:
        try:
            rows.append(_row(table))
        except InputError as error:
            of_file = ", " if table.problem else ": "
            told = InputError(f"{table.where}{of_file}{str(error).removesuffix('.')}")
            problems.append(Problem(told, table.name if table.part == "sample" else None, table.row))
    return pa.Table.from_pylist(rows, schema=CHECKED), problems


def beside(path: str, sheet: Path) -> Path | None:
    """A file that a samplesheet names: beside it, else in the working folder; None where it is nowhere."""
    return next((found for found in (sheet.parent / path, Path(path)) if found.is_file()), None)


def tables_of(sheet: Sheet, common: Path | None) -> list[Table]:
    """
    The tables that a samplesheet names, on this machine.

    Parameters
    ----------
    sheet : Sheet
    common : Path or None
        Column map of samples that have neither format nor column map.
    """
    return [_located(sample, sheet.path, common) for sample in sheet.samples]


def _located(sample: Sample, sheet: Path, common: Path | None) -> Table:
    path = beside(sample.path, sheet)
    columns = beside(sample.columns, sheet) if sample.columns else None if sample.format else common
    problem = None
    if path is None:
        problem = f"column 'path': there is no file '{sample.path}'"
    elif sample.columns and columns is None:
        problem = f"column 'columns': there is no file '{sample.columns}'"
    where = f"{sheet.name}, row {sample.row}"
    return Table(
        "sample", sample.name, where, sample.row, path, problem, sample.format, columns, sample.species
    )


def _row(table: Table) -> dict:
    if table.problem:
        raise InputError(table.problem)
    columns = reading.read_column_map(table.columns) if table.columns else None
    row = {"sample_id": table.name, "species": table.species}
    if table.path is None:
        return row
    row["table"] = table.path.name
    head = heads.look(table.path, table.format, columns, table.species, table.max_unpacked)
    if head.format is None:
        return row
    species = ", ".join(sorted(head.species, key=head.species.get, reverse=True)) or None
    counts = {"rows": head.rows, "kept": head.kept, "share": head.share, **head.chains}
    return {**row, "format": head.format, "species": species, **counts}
