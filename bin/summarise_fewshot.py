#!/usr/bin/env python3
"""The few-shot results of all encoders: tables, summary and figures."""

import json
from pathlib import Path

import pyarrow as pa

from airrvec import cli, fewshot, figures, tables
from airrvec.errors import InputError, exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="files of benchmark_fewshot.py")
    parser.add_argument("--encoders", required=True, help="names, in the order of the figures")
    parser.add_argument("--outdir", type=Path, default=Path("."))
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    paths = {path.name: path for path in args.results}
    names = args.encoders.split(",")
    qcs = [json.loads(paths[f"{name}.qc.json"].read_text()) for name in names]
    if any(qc != qcs[0] for qc in qcs):
        raise InputError("the encoders were not measured on the same receptors and splits")
    digest = {"splits_digest": qcs[0]["splits_digest"]}

    def joined(kind: str) -> pa.Table:
        return pa.concat_tables([tables.read(paths[f"{name}.{kind}.parquet"]) for name in names])

    auroc, roc = joined("auroc"), joined("roc")
    summary = fewshot.summarise(auroc)
    not_evaluated = tables.read(paths[f"{names[0]}.not_evaluated.parquet"])
    for name, table in (
        ("auroc", auroc),
        ("auroc_summary", summary),
        ("roc", roc),
        ("not_evaluated", not_evaluated),
    ):
        tables.write(table, args.outdir / f"{name}.parquet", digest)
        tables.write_tsv(table, args.outdir / f"{name}.tsv")
    figures.auroc_against_k(summary, args.outdir / "auroc_against_k")
    figures.roc_curves(roc, args.outdir / "roc_curves")
    tables.write_text(json.dumps(qcs[0], indent=2) + "\n", args.outdir / "benchmark.json")
    cli.write_versions(args, "matplotlib", "pyarrow")


if __name__ == "__main__":
    main()
