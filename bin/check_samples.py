#!/usr/bin/env python3
"""Check the samplesheet and the beginning of every table before the first long task."""

import json
from dataclasses import replace
from pathlib import Path

from airrvec.core import script, tables
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.missing import write_missing
from airrvec.input.samplesheet import checks
from airrvec.input.samplesheet import sheet as samplesheet
from airrvec.input.samplesheet.checks import condition_notes
from airrvec.input.samplesheet.names import unique_names


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--sheet", type=Path, help="samplesheet, CSV")
    parser.add_argument(
        "--request", type=Path, required=True,
        help="JSON: species, compare_by, compare_within, max_unpacked (GB) and tables, each with part,"
        " table and column_map"
        " (numbers of their folders) and problem; rows of the samplesheet also with line and path; other"
        " tables also with format and species",
    )  # fmt: skip
    parser.add_argument("--tables", type=Path, default=Path("tables"), help="one folder per table: 1, 2, …")
    parser.add_argument("--maps", type=Path, default=Path("maps"), help="one folder per column map: 1, 2, …")
    parser.add_argument(
        "--out", type=Path, default=Path("checked.json"), help="JSON file: tables to read, and all problems"
    )
    parser.add_argument(
        "--seen", type=Path, default=Path("samples.tsv"), help="TSV file: contents of the first rows"
    )
    parser.add_argument(
        "--missing", type=Path, default=Path("check.missing.json"), help="JSON file: excluded samples"
    )
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    request = json.loads(args.request.read_text())
    sheet = samplesheet.read(args.sheet, request["species"]) if args.sheet else None
    conditions = {name: request[name] for name in checks.CONDITIONS}
    problems = [
        *(sheet.problems if sheet else []),
        *samplesheet.condition_problems(conditions, sheet),
    ]
    run_tables = with_reference_names(tables_of_run(request["tables"], sheet, args), request["tables"])
    limit = int(request["max_unpacked"] * script.GB)
    seen, table_problems = checks.check([replace(table, max_unpacked=limit) for _, table in run_tables])
    problems = sorted([*problems, *table_problems], key=lambda problem: problem.row)
    failed = {problem.sample for problem in problems}
    metadata = {sample.name: sample.metadata for sample in (sheet.samples if sheet else [])}
    hla = {sample.name: sample.hla for sample in (sheet.samples if sheet else [])}
    none = dict.fromkeys(sheet.metadata if sheet else [])  # so that all tables of cells have the same columns
    result = {
        "notes": [*condition_notes(conditions, sheet, failed), *checks.warnings(seen)],
        "problems": [{"sample": problem.sample, "reason": str(problem.error)} for problem in problems],
        "tables": [
            {
                "number": number,
                "id": table.name,
                "format": table.format or "",
                "species": table.species,
                "metadata": metadata[table.name] if table.part == "sample" else none,
                "row_unit": table.unit.row,
                "count_unit": table.unit.count,
                "hla": hla[table.name] if table.part == "sample" else "",
            }
            for number, table in run_tables
            if table.part != "sample" or table.name not in failed
        ],
    }
    tables.write_json(result, args.out)
    tables.write_tsv(seen, args.seen)
    missing = [
        {"part": "sample", "name": problem.sample, "reason": str(problem.error)}
        for problem in problems
        if problem.sample
    ]
    write_missing(missing, args.missing)
    script.write_versions(args, "pyarrow", "tidytcells")


def tables_of_run(
    entries: list[dict], sheet: samplesheet.Sheet | None, args
) -> list[tuple[int, checks.Table]]:
    """Return the tables of the run with their numbers in the request: the samplesheet's first."""
    at_line = {entry.get("line"): number for number, entry in enumerate(entries)}
    run_tables = []
    if sheet is not None:
        for sample in sheet.samples:
            number = at_line[sample.line]
            entry = entries[number]
            if entry["path"] != sample.path:
                raise InputError(
                    f"the path '{sample.path}' was taken for '{entry['path']}'",
                    file=sheet.path,
                    row=sample.row,
                    fix="This is an error of airrvec: please report it with the samplesheet",
                )
            place = f"{sheet.path.name}, row {sample.row}"
            table = _table(entry, sample.name, place, sample.row, sample.format, sample.species, args)
            run_tables.append((number, replace(table, unit=sample.unit)))
    unlisted = [(number, entry) for number, entry in enumerate(entries) if entry.get("line") is None]
    for number, entry in unlisted:
        several = sum(other["part"] == entry["part"] for _, other in unlisted) > 1
        place = f"--{entry['part']}" + (f" {entry['path']}" if several else "")
        run_tables.append(
            (number, _table(entry, entry["part"], place, 0, entry["format"], entry["species"], args))
        )
    return run_tables


def with_reference_names(
    run_tables: list[tuple[int, checks.Table]], entries: list[dict]
) -> list[tuple[int, checks.Table]]:
    """Return the tables; several references are named after their files, one is ``reference``."""
    references = [number for number, table in run_tables if table.part == "reference"]
    if len(references) < 2:
        return run_tables
    names = unique_names([Path(entries[number]["path"]) for number in references])
    named = dict(zip(references, names, strict=True))
    return [(number, replace(table, name=named.get(number, table.name))) for number, table in run_tables]


def _table(
    entry: dict, name: str, place: str, row: int, format: str | None, species: str, args
) -> checks.Table:
    path, column_map = _staged(args.tables, entry["table"]), _staged(args.maps, entry["column_map"])
    return checks.Table(entry["part"], name, place, row, path, entry["problem"], format, column_map, species)


def _staged(folder: Path, number: int | None) -> Path | None:
    """Return the only file of a numbered folder; None without a number."""
    return next((folder / str(number)).iterdir()) if number else None


if __name__ == "__main__":
    main()
