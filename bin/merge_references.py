#!/usr/bin/env python3
"""Merge labelled tables into one reference: pairs of receptor and epitope, conflicts, use of each table."""

import json
from functools import partial
from pathlib import Path

from airrvec.core import kept_results, runtime, script, tables
from airrvec.core.missing import optional_part
from airrvec.core.terminal import print_warning

WARNINGS = "warnings.json"


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--sources", nargs="+", required=True, help="names of the tables")
    parser.add_argument(
        "--tables",
        type=Path,
        default=Path("tables"),
        help="folder of <source>.cells.parquet, <source>.receptors_0000.parquet and <source>.qc.json",
    )
    parser.add_argument(
        "--same-studies", action="store_true", help="write same_studies, as calibrate_annotation.py does"
    )
    kept_results.add_option(parser)
    script.add_options(parser, "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("annotation")
def main(argv=None):
    args = parse_args(argv)
    key, make = partial(_digest, args), partial(_merge, args)
    kept_results.take_or_make(args.calibrations, key, args.outdir, make, kept_results.MERGED)
    warnings = json.loads((args.outdir / WARNINGS).read_text())
    print_warning(*(f"WARNING: {sentence}" for sentence in warnings))
    script.write_versions(args, "numpy", "pandas", "pyarrow", "scipy", "tidytcells")


def _digest(args) -> str:
    """Return the digest of all that the results depend on."""
    endings = ("cells.parquet", "receptors_0000.parquet", "qc.json")
    files = [f"{name}.{ending}" for name in args.sources for ending in endings]
    inputs: dict[str, Path | None] = {name: args.tables / name for name in files}
    options = {"sources": args.sources, "same_studies": args.same_studies}
    return kept_results.digest(Path(__file__), None, inputs, options)


def _merge(args) -> None:
    """Write the results."""
    runtime.limit_threads(args.threads)
    from airrvec.annotation import merged_reference

    merged = merged_reference.merge([_source(args.tables, name) for name in args.sources])
    tables.write_json(merged.warnings, args.outdir / WARNINGS)
    tables.write(merged.cells, args.outdir / "reference.cells.parquet")
    tables.write(merged.receptors, args.outdir / "reference.receptors_0000.parquet")
    written = {"merged": merged.pairs, "conflicts": merged.conflicts, "sources": merged.sources}
    if args.same_studies:
        written["same_studies"] = merged.same_studies
    for name, table in written.items():
        tables.write_both(table, args.outdir / name)


def _source(folder: Path, name: str):
    """Return the standardised table of a name."""
    from airrvec.annotation.merged_reference import SourceTable

    return SourceTable(
        name,
        tables.read(folder / f"{name}.cells.parquet"),
        tables.read(folder / f"{name}.receptors_0000.parquet"),
        json.loads((folder / f"{name}.qc.json").read_text()),
    )


if __name__ == "__main__":
    main()
