"""Input of the command ``airrvec``: tables or a samplesheet, with the rules and checks of the pipeline."""

import argparse
from dataclasses import replace
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.core.terminal import print_warning
from airrvec.input.samplesheet import checks
from airrvec.input.samplesheet import sheet as samplesheet
from airrvec.input.samplesheet.conditions import condition_notes
from airrvec.input.samplesheet.names import name_of


def samples(args: argparse.Namespace) -> list[checks.Table]:
    """
    Return the tables that are given, or the samples of one samplesheet, checked as in the pipeline.

    Parameters
    ----------
    args : argparse.Namespace
        From `airrvec.app.cli.parser`: ``tables``, ``format``, ``column_map``, ``species`` and
        ``failed_samples``.

    Raises
    ------
    InputError
        With all problems. With ``--failed-samples skip``, only if a problem concerns no single sample, or no
        sample remains.
    """
    if args.format and args.column_map:
        raise InputError("--column-map: a table with a column map has no format", fix="Leave out --format")
    sheet = _sheet(args)
    tables, problems = _tables_of_sheet(args, sheet) if sheet else _tables_of_files(args)
    _, table_problems = checks.check(tables)
    condition = samplesheet.condition_problems(getattr(args, "compare_by", None), sheet)
    problems = sorted([*problems, *condition, *table_problems], key=lambda problem: problem.row)
    failed = {problem.sample for problem in problems}
    remaining = [table for table in tables if table.name not in failed]
    reasons = [str(problem.error) for problem in problems]
    raise_or_print(args, reasons, stops=None in failed or not remaining, what="problems in the input")
    for note in condition_notes(getattr(args, "compare_by", None), sheet, failed):
        print_warning(f"WARNING: {note}")
    return remaining


def named_files(args: argparse.Namespace) -> list[Path]:
    """Return all files that the tables or the samplesheet of a verb name, read or not."""
    sheet = _sheet(args)
    rows = checks.tables_of(sheet, args.column_map) if sheet else []
    row_files = [path for row in rows for path in (row.path, row.column_map)]
    return [path for path in (*args.tables, *row_files) if path is not None]


def raise_or_print(args: argparse.Namespace, reasons: list[str], *, stops: bool, what: str) -> None:
    """
    Raise all reasons as one error, or print each and continue.

    Raises
    ------
    InputError
        If there are reasons, and ``stops`` or ``--failed-samples stop``.
    """
    if reasons and (stops or args.failed_samples == "stop"):
        raise InputError(what, reasons=reasons)
    for reason in reasons:
        print_warning(f"MISSING: {reason}")


def _sheet(args: argparse.Namespace) -> samplesheet.Sheet | None:
    is_one = len(args.tables) == 1 and samplesheet.is_samplesheet(args.tables[0])
    return samplesheet.read(args.tables[0], args.species) if is_one else None


def _tables_of_sheet(
    args: argparse.Namespace, sheet: samplesheet.Sheet
) -> tuple[list[checks.Table], list[samplesheet.Problem]]:
    tables = checks.tables_of(sheet, args.column_map)
    for table in tables:
        if table.part != "sample":
            print_warning(f"NOTE: {table.where}: only the pipeline reads the role {table.part}")
    with_format = [
        table if table.format or table.column_map else replace(table, format=args.format)
        for table in tables
        if table.part == "sample"
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
        layout = (args.format, args.column_map, args.species)
        tables.append(checks.Table("sample", name, path.name, number, path, None, *layout))
    return tables, problems
