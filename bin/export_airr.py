#!/usr/bin/env python3
"""Export the standardised chains of a sample as AIRR rearrangement TSV, one row per chain."""

from pathlib import Path

from airrvec.core import database, schema, script, tables
from airrvec.core.missing import optional_part
from airrvec.input import cells
from airrvec.input.formats.airr_rearrangement import REQUIRED


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--cells", type=Path, required=True, help="cells of the sample")
    parser.add_argument("--receptors", type=Path, required=True, help="receptors of the sample")
    parser.add_argument("--out", type=Path, required=True, help="AIRR rearrangement file, .tsv")
    script.add_options(parser, "memory", "cpus", "missing")
    return parser.parse_args(argv)


def rearrangement_columns() -> dict[str, str]:
    """Return AIRR field → SQL expression, for a cell joined with its receptor and a locus."""
    alpha, beta = (schema.field(locus, "junction_aa") for locus in schema.LOCI)
    is_single = f"({alpha} IS NULL OR {beta} IS NULL)"
    known = {
        "sequence_id": "name || '_' || locus",
        "productive": "'T'",
        **{name: _of_locus(name) for name in schema.CHAIN_FIELDS},
        "locus": "locus",
        "cell_id": f"if(cell_id IS NULL AND {is_single}, NULL, name)",
        # Readers sum the counts of a cell's chains. Counts per chain are unknown: one chain has them all.
        **{
            name: f"if(locus = '{schema.LOCI[0]}' OR {is_single}, {name}, NULL)"
            for name in ("duplicate_count", "umi_count")
        },
        **{name: name for name in ("species", "receptor_id", "clonotype_id", *schema.LABELS)},
    }
    required = dict.fromkeys(REQUIRED, "NULL")
    return required | known


def _of_locus(name: str) -> str:
    alpha, beta = (schema.field(locus, name) for locus in schema.LOCI)
    return f"if(locus = '{schema.LOCI[0]}', {alpha}, {beta})"


@optional_part("export")
def main(argv=None):
    args = parse_args(argv)
    columns = [f"{expression} AS {name}" for name, expression in rearrangement_columns().items()]
    with (
        database.connect(args.out.parent, memory=args.memory, threads=args.cpus) as connection,
        tables.atomic_path(args.out) as temporary,
    ):
        named = cells.with_unique_names(connection, args.cells)
        receptors = connection.read_parquet(tables.files(args.receptors))
        receptors = receptors.project("* EXCLUDE chain_pairing").distinct()
        loci = connection.values(*((locus,) for locus in schema.LOCI)).project("col0 AS locus")
        chains = named.join(receptors, "receptor_id").cross(loci)
        chains = chains.filter(f"{_of_locus('junction_aa')} IS NOT NULL").order("cell, locus")
        chains.project(", ".join(columns)).write_csv(str(temporary), sep="\t", header=True)
    script.write_versions(args, "duckdb")


if __name__ == "__main__":
    main()
