#!/usr/bin/env python3
"""
Export the standardised chains of a sample as AIRR rearrangement TSV, one row per chain.

``--each FILE`` exports several samples: a JSON list with a list of options per sample, beside those given.
"""

import argparse
from pathlib import Path

from airrvec.core import database, schema, script, tables
from airrvec.core.missing import optional_part, or_missing
from airrvec.core.pages import check_pages
from airrvec.input import cells
from airrvec.input.formats.airr_rearrangement import REQUIRED


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, required=True, help="cells of the sample")
    parser.add_argument("--chains", type=Path, required=True, help="chains of the sample")
    parser.add_argument("--out", type=Path, required=True, help="AIRR rearrangement file, .tsv")
    script.add_options(parser, "memory", "threads", "missing")
    return parser.parse_args(argv)


def rearrangement_columns() -> dict[str, str]:
    """Return AIRR field → SQL expression, for a chain joined with its cell."""
    kept = {name: name for name in schema.KEPT_FIELDS}
    kept["rev_comp"] = "CASE WHEN lower(rev_comp) IN ('t', 'true') THEN 'T'"
    kept["rev_comp"] += " WHEN lower(rev_comp) IN ('f', 'false') THEN 'F' END"
    known = {
        "sequence_id": "name || '_' || locus",
        "productive": "'T'",
        **{name: name for name in schema.CHAIN_FIELDS},
        "locus": "locus",
        "cell_id": "if(given IS NULL AND n_chains = 1, NULL, name)",
        **{name: name for name in ("duplicate_count", "umi_count", "consensus_count")},
        "c_call": "c_call",
        "clone_id": "clone_id",
        **{name: name for name in ("species", "receptor_id", "clonotype_id", *schema.LABELS)},
    }
    return {name: known.get(name, kept.get(name)) for name in dict.fromkeys((*REQUIRED, *known))}


@optional_part("export")
def main(argv=None):
    each = script.each(parse_args, argv)
    for args in each:
        with or_missing("export", args.missing):
            write_rearrangements(args)
    script.write_versions(each[0], "duckdb")


def write_rearrangements(args: argparse.Namespace) -> None:
    """Write the chains of a sample."""
    columns = [f"{expression} AS {name}" for name, expression in rearrangement_columns().items()]
    with (
        database.connect(args.out.parent, memory=args.memory, threads=args.threads) as connection,
        tables.atomic_path(args.out) as temporary,
    ):
        named = cells.with_unique_names(connection, args.cells)
        named = named.project(", ".join(("name", "cell", "cell_id AS given", *schema.LABELS)))
        check_pages(args.chains)
        chains = connection.read_parquet(str(args.chains))
        chains = chains.project("*, count(*) OVER (PARTITION BY cell_row) AS n_chains")
        joined = named.join(chains, "cell = cell_row").order("cell, locus")
        joined.project(", ".join(columns)).write_csv(str(temporary), sep="\t", header=True)


if __name__ == "__main__":
    main()
