#!/usr/bin/env python3
"""Merge labelled tables into one reference: pairs of receptor and epitope, conflicts, use of each table."""

import json
from pathlib import Path

from airrvec.core import runtime, script, tables
from airrvec.core.missing import optional_part
from airrvec.core.terminal import print_warning


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
    script.add_options(parser, "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("annotation")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec.annotation import merged_reference

    merged = merged_reference.merge([_source(args.tables, name) for name in args.sources])
    print_warning(*(f"WARNING: {sentence}" for sentence in merged.warnings))
    tables.write(merged.cells, args.outdir / "reference.cells.parquet")
    tables.write(merged.receptors, args.outdir / "reference.receptors_0000.parquet")
    written = {"merged": merged.pairs, "conflicts": merged.conflicts, "sources": merged.sources}
    if args.same_studies:
        written["same_studies"] = merged.same_studies
    for name, table in written.items():
        tables.write_both(table, args.outdir / name)
    script.write_versions(args, "numpy", "pandas", "pyarrow", "scipy", "tidytcells")


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
