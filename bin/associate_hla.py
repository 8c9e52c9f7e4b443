#!/usr/bin/env python3
"""Compare clusters with the donors' HLA: which clusters are more frequent in donors with an allele."""

from pathlib import Path

from airrvec.core import script, settings, tables
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("--clones", type=Path, required=True, help="folder written by count_clones.py")
    parser.add_argument("--clusters", type=Path, required=True, help="folder written by cluster_receptors.py")
    parser.add_argument("--samplesheet", type=Path, required=True, help="with the HLA of the donors")
    settings.add(parser, "hla_fields", "compare_within")
    script.add_options(parser, "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("hla")
def main(argv=None):
    args = parse_args(argv)
    from airrvec.input.samplesheet import sheet
    from airrvec.repertoire import hla_associations

    samples = tables.read(args.clones / "samples.parquet").to_pandas().set_index("sample_id")
    if args.compare_within and args.compare_within not in samples:
        raise InputError(f"the samplesheet has no column '{args.compare_within}'", file=args.samplesheet)
    typings = {sample.name: sample.hla for sample in sheet.read(args.samplesheet, "homosapiens").samples}
    donors = hla_associations.typed_donors(samples, typings, args.hla_fields, args.compare_within)
    carried = hla_associations.clusters_of_donors(
        args.clones / "clones.parquet", args.clusters / "members.parquet"
    )
    names = tables.read(args.clusters / "clusters.parquet", ["cluster_id", "centre"])
    table, counts = hla_associations.associations(carried, donors, names)
    tables.write_both(table, args.outdir / "hla")
    qc = {
        **{"fields": args.hla_fields, "within": args.compare_within, "least": hla_associations.LEAST_DONORS},
        **{"donors": len(donors.carried), "alleles": donors.carried.shape[1], "left_out": donors.left_out},
        **counts,
    }
    tables.write_json(qc, args.outdir / "hla.qc.json")
    script.write_versions(args, "numpy", "pandas", "pyarrow", "scipy")


if __name__ == "__main__":
    main()
