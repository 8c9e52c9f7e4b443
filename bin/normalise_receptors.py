#!/usr/bin/env python3
"""Standardise one input table: receptors, cells, and rejects with reasons."""

import json
from pathlib import Path

from airrvec import cli, readers, schema, tables
from airrvec.errors import exit_on_input_error
from airrvec.normalise import normalise


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("table", type=Path, help="input table, gzip allowed")
    parser.add_argument("--sample", required=True, help="sample_id")
    parser.add_argument("--format", choices=list(readers.FORMATS), help="else found from the header")
    parser.add_argument("--species", choices=list(schema.SPECIES), default="homosapiens")
    parser.add_argument("--metadata", type=Path, help="JSON object: further columns of cells")
    parser.add_argument("--outdir", type=Path, default=Path("."))
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    metadata = json.loads(args.metadata.read_text()) if args.metadata else {}
    chains = readers.read_chains(args.table, args.format)
    result = normalise(chains, sample_id=args.sample, species=args.species, metadata=metadata)
    for name in ("cells", "receptors", "rejects"):
        tables.write(getattr(result, name), args.outdir / f"{args.sample}.{name}.parquet")
    counts = {**result.counts, "warnings": chains.warnings}
    tables.write_text(json.dumps(counts, indent=2) + "\n", args.outdir / f"{args.sample}.qc.json")
    cli.write_versions(args, "airr", "pyarrow", "tidytcells")


if __name__ == "__main__":
    main()
