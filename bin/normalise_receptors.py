#!/usr/bin/env python3
"""
Standardise an input table: receptors, cells, their chains, γδ cells apart, and rejects with reasons.

``--each FILE`` standardises several tables: a JSON list with a list of options per table, beside those given.
"""

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from airrvec.core import kept_results, schema, script, settings, tables
from airrvec.core.errors import InputError, exit_on_input_error
from airrvec.core.identity import split_by_clonotype
from airrvec.core.missing import write_missing
from airrvec.core.schema.gamma_delta import FOLDER as GAMMA_DELTA
from airrvec.core.terminal import print_warning
from airrvec.input import reading
from airrvec.input.normalise import Normaliser
from airrvec.input.samplesheet.names import ROLES
from airrvec.input.units import DeclaredUnit, read_as

import pyarrow as pa


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("table", type=Path, help="input table: text, Parquet, JSON or AnnData")
    parser.add_argument("--sample", required=True, help="sample_id")
    parser.add_argument("--part", choices=ROLES, default="sample", help="use of the table")
    layout = parser.add_mutually_exclusive_group()
    layout.add_argument("--format", choices=list(reading.FORMATS), help="if not given, detected")
    layout.add_argument(
        "--column-map", type=Path, help="column map: JSON object, field of airrvec → column of the table"
    )
    settings.add(parser, "species", "multichain", "max_rejected", "max_unpacked", "partitions")
    parser.add_argument("--row-unit", choices=schema.ROW_UNITS, help="what a row is; if not given, found")
    parser.add_argument(
        "--count-unit", choices=schema.COUNT_UNITS, help="what is counted; if not given, found"
    )
    parser.add_argument(
        "--metadata", type=json.loads, default="{}", help="JSON object: additional columns of cells"
    )
    kept_results.add_option(parser)
    parser.add_argument(
        "--missing", type=Path, help="JSON file: write here why the table cannot be read, and exit with 0"
    )
    script.add_options(parser, "outdir")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    each = script.each(parse_args, argv)
    read = []
    for args in each:
        rows = None
        try:
            rows = write_normalised(args) if len(each) > 1 else write_or_take(args)
        except InputError as error:
            if args.missing is None:
                raise
            write_missing([{"part": args.part, "name": args.sample, "reason": str(error)}], args.missing)
        except Exception as error:
            error.add_note(f"Of sample {args.sample}: {args.table.name}")
            raise
        read.append({"path": args.table, "sample": args.sample, "rows": rows})
    script.write_versions(each[0], "anndata", "pyarrow", "tidytcells", inputs=read)


def write_or_take(args) -> int:
    """Do as `write_normalised`; results of a reference are kept, and taken by later runs."""
    folder = args.calibrations if args.part == "reference" else None
    key, make = partial(_digest, args), partial(write_normalised, args)
    rows = kept_results.take_or_make(folder, key, args.outdir, make, kept_results.NORMALISED)
    if rows is None:
        summary = json.loads((args.outdir / f"{args.sample}.qc.json").read_text())
        print_warning(*described(summary))
        rows = summary["rows_in"]
    return rows


def _digest(args) -> str:
    """Return the digest of all that the results of a reference depend on."""
    inputs = {"table": args.table, "column_map": args.column_map}
    names = ("sample", "format", "species", "multichain", "max_rejected", "max_unpacked", "partitions")
    options = {name: getattr(args, name) for name in (*names, "row_unit", "count_unit", "metadata")}
    return kept_results.digest(Path(__file__), None, inputs, {**options, "name": args.table.name})


def write_normalised(args) -> int:
    """
    Write cells, their chains, receptors of each partition, rejects and counts; return the rows read.

    A sample without αβ cells has no tables of them, one without γδ cells no tables of those.
    """
    columns = reading.read_column_map(args.column_map) if args.column_map else None
    max_unpacked = int(args.max_unpacked * script.GB)
    source = reading.open_chains(
        args.table, args.format, columns, max_unpacked, DeclaredUnit(args.row_unit, args.count_unit)
    )
    normaliser = Normaliser(
        sample_id=args.sample,
        species=args.species,
        metadata=args.metadata,
        max_rejected=args.max_rejected,
        multichain=args.multichain,
        gamma_delta=args.part == "sample",
    )
    stem, apart = args.outdir / args.sample, args.outdir / GAMMA_DELTA / args.sample
    with ExitStack() as stack:
        written = {}

        def write(path: str, part: pa.Table) -> None:
            """Add rows to a table, which begins with its first part: none has no file."""
            if path not in written:
                written[path] = stack.enter_context(tables.writer(path, part.schema))
            written[path].write_table(part)

        for part in reading.prefetch(normaliser.parts(source)):
            write(f"{stem}.rejects.parquet", part.rejects)
            if len(part.cells):
                write(f"{stem}.cells.parquet", part.cells)
                write(f"{stem}.chains.parquet", part.chains)
                split = split_by_clonotype(part.receptors, args.partitions)
                for number, receptors in enumerate(split):
                    write(f"{stem}.receptors_{number:04d}.parquet", receptors)
            if len(part.gamma_delta_cells):
                write(f"{apart}.cells.parquet", part.gamma_delta_cells)
                write(f"{apart}.chains.parquet", part.gamma_delta_chains)
    summary = normaliser.summary(source)
    tables.write_json(summary, f"{stem}.qc.json")
    print_warning(*described(summary))
    return normaliser.counts.rows_in


def described(summary: dict) -> list[str]:
    """Return lines for the terminal: what the columns and rows of a table mean, and its warnings."""
    name = summary["sample_id"]
    warnings = [f"WARNING: {name}: {sentence}" for sentence in summary["warnings"]]
    return [f"{name}: {read_as(summary)}", *warnings]


if __name__ == "__main__":
    main()
