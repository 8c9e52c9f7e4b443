"""Checks of all tables before the first task, shared by the pipeline and the command ``airrvec``."""

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.terminal import counted, printable
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.input.samplesheet.sheet import Problem, Sample, Sheet
from airrvec.input.units import NOTHING, DeclaredUnit, Unit
from airrvec.stats.designs import LEAST_UNITS, SIGNIFICANT, designs

import pandas as pd
import pyarrow as pa

_SHOWN = 10  # values


# Parameters that name columns of the samplesheet.
CONDITIONS = ("compare_by", "compare_within")


def condition_notes(
    conditions: Mapping[str, str | None], sheet: Sheet | None, failed: Collection[str | None]
) -> list[str]:
    """
    Return a sentence if a condition cannot be tested, or if no test of it can be significant.

    Parameters
    ----------
    conditions : dict
        Column of the samplesheet by parameter, of `CONDITIONS`: what is compared, and within what.
    sheet : Sheet or None
    failed : collection of str
        Names of samples that are left out.
    """
    condition, within = (conditions[name] for name in CONDITIONS)
    if within and condition is None and sheet is not None and not any(row.hla for row in sheet.samples):
        return [f"--compare_within {within}: it is not used without --compare_by or the donors' HLA"]
    if condition is None or sheet is None or condition not in sheet.metadata:
        return []
    samples = [row for row in sheet.samples if row.role == "sample" and row.name not in failed]
    rows = {row.name: {**row.metadata, "donor": row.metadata.get("donor") or row.name} for row in samples}
    table = pd.DataFrame.from_dict(rows, "index", dtype=object)
    table = table.reindex(columns=list(dict.fromkeys(["donor", *sheet.metadata]))).replace("", None)
    made = designs(table, condition, within if within in sheet.metadata else None)
    if not made:
        sizes = Counter(value for row in samples if (value := row.metadata[condition]))
        per_value = ", ".join(f"{value} {n:,}" for value, n in sorted(sizes.items())[:_SHOWN]) or "none"
        more = f" and {counted(len(sizes) - _SHOWN, 'other value')}" if len(sizes) > _SHOWN else ""
        return [
            f"--compare_by {condition}: nothing will be tested, because this needs two values with at least"
            f" {LEAST_UNITS} donors each (samples per value: {per_value}{more})"
        ]
    best = min(made, key=lambda design: design.least_p)
    if best.least_p <= SIGNIFICANT:
        return []
    units = " and ".join(f"{n:,}" for n in best.n_units)
    pairs = f"{len({*best.donors.tolist()}):,} donors with several values"
    return [
        f"--compare_by {condition}: nothing can be significant, because the smallest p that"
        f" {pairs if best.paired else f'{units} donors'} can give is {best.least_p:.2g}"
    ]


# --- Format, species and chains of a table, from its beginning

FIRST_LOOK = 1 << 20  # bytes, unpacked
SECOND_LOOK = 16 << 20  # bytes, if the first look finds no receptor
# Bytes; JSON and AnnData are read whole or not at all.
LARGEST_WHOLE = 32 << 20


@dataclass(frozen=True)
class Head:
    """
    Summary of the beginning of a table.

    Attributes
    ----------
    format : str or None
        None if the table was not inspected.
    species : dict
        Species → number of cells.
    chains : dict
        ``paired``, ``alpha``, ``beta`` → number of cells.
    rows, kept : int
        Number of rows inspected, and of rows with a receptor.
    share : float
        Share of the table that was inspected, from 0 to 1.
    roles : str
        What the columns mean (`airrvec.input.roles`).
    unit : Unit
        What a row is, and what is counted.
    doubts : tuple of str
        Signs that the table is not what it was read as (`airrvec.input.plausibility`).
    """

    format: str | None
    species: dict[str, int]
    chains: dict[str, int]
    rows: int
    kept: int
    share: float
    roles: str = ""
    unit: Unit = field(default_factory=Unit)
    doubts: tuple[str, ...] = ()


NOT_SEEN = Head(None, {}, {}, 0, 0, 0.0)


def look(
    path: str | Path,
    format: str | None,
    columns: dict[str, str] | None,
    species: str,
    max_unpacked: int = reading.MAX_UNPACKED,
    unit: DeclaredUnit = NOTHING,
    *,
    gamma_delta: bool = False,
) -> Head:
    """
    Inspect the beginning of a table.

    Parameters
    ----------
    path, format, columns, max_unpacked, unit
        As in `airrvec.input.reading.open_chains`.
    species : str
        Species of rows without one.
    gamma_delta : bool
        Whether γδ cells are read, too.

    Raises
    ------
    InputError
        If the table cannot be read, has no known format, contains no receptor (if it was read to its end),
        or contains genes of another species than stated.
    """
    rest = (max_unpacked, unit, gamma_delta)
    head = _look(Path(path), format, columns, species, FIRST_LOOK, *rest)
    if head.kept or head.share == 1 or not head.rows:
        return head
    # Rows may be sorted by locus, so the first part of a table may contain no receptor.
    return _look(Path(path), format, columns, species, SECOND_LOOK, *rest)


def _look(
    path: Path,
    format,
    columns,
    species: str,
    n_bytes: int,
    max_unpacked: int,
    unit: DeclaredUnit,
    gamma_delta: bool,
) -> Head:
    with tempfile.TemporaryDirectory() as folder:
        part, share = reading.beginning(path, Path(folder), n_bytes, max_unpacked)
        if not part.stat().st_size and path.stat().st_size:  # its first lines are longer than n_bytes
            return NOT_SEEN
        if part == path and path.stat().st_size > LARGEST_WHOLE:
            return NOT_SEEN
        source = reading.open_chains(part, format, columns, max_unpacked, unit)
        normaliser = Normaliser(sample_id=path.name, species=species, gamma_delta=gamma_delta)
        return _counted(source, normaliser, share)


def _counted(source: reading.Source, normaliser: Normaliser, share: float) -> Head:
    counts = normaliser.counts
    try:
        for _ in normaliser.parts(source):
            pass
    except InputError:
        if share == 1 or not counts.rows_in or normaliser.contradiction:
            raise
    pairing = counts.pairing
    alpha, beta = pairing[schema.ORPHAN_VJ], pairing[schema.ORPHAN_VDJ]
    chains = {"paired": counts.cells - alpha - beta, "alpha": alpha, "beta": beta}
    chains["gamma_delta"] = counts.gamma_delta.cells
    rows = counts.rows_in, counts.rows_out, share
    told = counts.roles, normaliser.unit or Unit(), tuple(normaliser.doubts)
    return Head(source.format, dict(counts.species), chains, *rows, *told)


# --- Checks of all tables before the first task, shared by the pipeline and the command ``airrvec``

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
    place : str
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
    place: str
    row: int
    path: Path | None
    problem: str | None = None
    format: str | None = None
    column_map: Path | None = None
    species: str = "homosapiens"
    max_unpacked: int = reading.MAX_UNPACKED
    metadata: dict[str, str | None] = field(default_factory=dict)
    hla: str = ""
    unit: DeclaredUnit = NOTHING


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
            located = InputError(text if text.startswith(table.place) else f"{table.place}{separator}{text}")
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
    place = f"{sheet.name}, row {sample.row}"
    return Table(
        *(sample.role, sample.name, place, sample.row, path, problem),
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
    layout = (table.path, table.format, columns, table.species, table.max_unpacked, table.unit)
    head = look(*layout, gamma_delta=table.part == "sample")
    if head.format is None:
        return row
    species = ", ".join(sorted(head.species, key=head.species.__getitem__, reverse=True)) or None
    counts: dict[str, Any] = {"rows": head.rows, "kept": head.kept, "share": head.share, **head.chains}
    counts |= head.unit.words
    counts["columns"] = head.roles or None
    counts["warnings"] = BETWEEN_WARNINGS.join(map(printable, head.doubts)) or None
    return {**row, "format": head.format, "species": species, **counts}
