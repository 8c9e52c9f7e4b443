#!/usr/bin/env python3
"""Standardise one input table: receptors, cells, and rejects with reasons."""

import json
from contextlib import ExitStack
from pathlib import Path

from airrvec import cli, readers, schema, tables
from airrvec.errors import exit_on_input_error
from airrvec.normalise import Normaliser, by_partition
from airrvec.pairing import POLICIES


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("table", type=Path, help="text, Parquet, JSON or AnnData")
    parser.add_argument("--sample", required=True, help="sample_id")
    layout = parser.add_mutually_exclusive_group()
    layout.add_argument("--format", choices=list(readers.FORMATS), help="else found from the columns")
    layout.add_argument(
        "--columns", type=Path, help="column map: JSON object, our field → the table's column"
    )
    parser.add_argument("--species", choices=list(schema.SPECIES), default="homosapiens")
    parser.add_argument("--metadata", type=Path, help="JSON object: further columns of cells")
    parser.add_argument(
        "--multichain", choices=POLICIES, default="top", help="cells with more than one α or β chain"
    )
    parser.add_argument(
        "--max-rejected", type=float, default=100, help="per cent of the rows that may be rejected"
    )
    parser.add_argument(
        "--partitions", type=int, default=1, help="files of receptors, each a range of receptor_id"
    )
    cli.add_options(parser, "outdir")
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    metadata = json.loads(args.metadata.read_text()) if args.metadata else {}
    columns = readers.read_column_map(args.columns) if args.columns else None
    source = readers.open_chains(args.table, args.format, columns)
    normaliser = Normaliser(
        sample_id=args.sample,
        species=args.species,
        metadata=metadata,
        max_rejected=args.max_rejected,
        multichain=args.multichain,
    )
    stem = args.outdir / args.sample
    with ExitStack() as stack:
        cells = stack.enter_context(tables.writer(f"{stem}.cells.parquet", normaliser.cells_schema))
        rejects = stack.enter_context(tables.writer(f"{stem}.rejects.parquet", schema.REJECTS))
        partitions = [
            stack.enter_context(tables.writer(f"{stem}.receptors_{number:04d}.parquet", schema.RECEPTORS))
            for number in range(args.partitions)
        ]
        for part in normaliser.parts(source):
            cells.write_table(part.cells)
            rejects.write_table(part.rejects)
            for partition, receptors in zip(
                partitions, by_partition(part.receptors, args.partitions), strict=True
            ):
                partition.write_table(receptors)
    summary = json.dumps(normaliser.summary(source), indent=2)
    tables.write_text(summary + "\n", f"{stem}.qc.json")
    cli.write_versions(args, "airr", "anndata", "pyarrow", "tidytcells")


if __name__ == "__main__":
    main()
