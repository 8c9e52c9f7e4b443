"""Input of the command ``airrvec``: tables or a samplesheet, with the rules and checks of the pipeline."""

import argparse
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input.samplesheet import checks
from airrvec.input.samplesheet import sheet as samplesheet
from airrvec.input.samplesheet.names import name_of


@dataclass(frozen=True)
class Sample:
    """Input table: its name, path, format or column map, species and metadata."""

    name: str
    path: Path
    format: str | None
    columns: Path | None
    species: str
    metadata: dict[str, str | None]


def samples(args: argparse.Namespace) -> list[Sample]:
    """
    Return the samples of the tables, or of one samplesheet, checked as in the pipeline.

    Parameters
    ----------
    args : argparse.Namespace
        From `airrvec.app.cli.parser`: ``tables``, ``format``, ``columns``, ``species``, ``failed_samples``.

    Raises
    ------
    InputError
        With all problems. With ``--failed-samples skip``, only if a problem concerns no single sample, or no
        sample remains.
    """
    if args.format and args.columns:
        raise InputError("--columns: a table with a column map has no format", fix="Leave out --format")
    sheet = _sheet(args)
    tables, problems = _tables_of_sheet(args, sheet) if sheet else _tables_of_files(args)
    _, table_problems = checks.check(tables)
    condition = samplesheet.condition_problems(getattr(args, "condition", None), sheet)
    problems = sorted([*problems, *condition, *table_problems], key=lambda problem: problem.row)
    failed = {problem.sample for problem in problems}
    remaining = [table for table in tables if table.name not in failed]
    reasons = [str(problem.error) for problem in problems]
    raise_or_print(args, reasons, stops=None in failed or not remaining, what="problems in the input")
    metadata = {sample.name: sample.metadata for sample in sheet.samples} if sheet else {}
    return [
        Sample(
            *(table.name, table.path, table.format, table.columns, table.species),
            metadata.get(table.name, {}),
        )
        for table in remaining
    ]


def raise_or_print(args: argparse.Namespace, reasons: list[str], *, stops: bool, what: str) -> None:
    """
    Raise all reasons as one error, or print each and continue.

    Raises
    ------
    InputError
        If there are reasons, and ``stops`` or ``--failed-samples stop``.
    """
    if reasons and (stops or args.failed_samples == "stop"):
        raise InputError.several(reasons, what)
    for reason in reasons:
        print(f"MISSING: {reason}", file=sys.stderr, flush=True)


def _sheet(args: argparse.Namespace) -> samplesheet.Sheet | None:
    is_one = len(args.tables) == 1 and samplesheet.is_samplesheet(args.tables[0])
    return samplesheet.read(args.tables[0], args.species) if is_one else None


def _tables_of_sheet(
    args: argparse.Namespace, sheet: samplesheet.Sheet
) -> tuple[list[checks.Table], list[samplesheet.Problem]]:
    tables = checks.tables_of(sheet, args.columns)
    with_format = [
        table if table.format or table.columns else replace(table, format=args.format) for table in tables
    ]
    return with_format, sheet.problems


def _tables_of_files(args: argparse.Namespace) -> tuple[list[checks.Table], list[samplesheet.Problem]]:
    tables, problems = [], []
    seen: dict[str, Path] = {}
    for number, path in enumerate(args.tables, start=1):
        name = name_of(path)
        problem = None if name else f"the file name of '{path}' gives no sample name"
        if name.lower() in seen:
            problem = f"two tables are called '{name}', {seen[name.lower()]} and {path}"
        if problem:
            error = InputError(problem, fix="Rename a file, or give a samplesheet")
            problems.append(samplesheet.Problem(error, row=number))
        seen.setdefault(name.lower(), path)
        layout = (args.format, args.columns, args.species)
        tables.append(checks.Table("sample", name, path.name, number, path, None, *layout))
    return tables, problems
