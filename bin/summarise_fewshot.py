#!/usr/bin/env python3
"""Summarise the few-shot results of all encoders: tables, summary and figures."""

import json
from pathlib import Path

from airrvec.core import schema, script, tables
from airrvec.core.errors import InputError
from airrvec.core.missing import optional_part
from airrvec.encoders import Titles
from airrvec.evaluation import comparisons, fewshot
from airrvec.figures import benchmark, benchmark_page

import pyarrow as pa
import pyarrow.compute as pc


def parse_args(argv=None):
    parser = script.parser(__doc__)
    parser.add_argument("results", type=Path, nargs="+", help="files written by benchmark_fewshot.py")
    parser.add_argument("--encoders", required=True, help="encoder names, in the order of the figures")
    script.add_options(parser, "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("benchmark")
def main(argv=None):
    args = parse_args(argv)
    paths = {path.name: path for path in args.results}
    # If an encoder could not be measured, its own task reports the reason.
    names = [name for name in args.encoders.split(",") if f"{name}.qc.json" in paths]
    qcs = [json.loads(paths[f"{name}.qc.json"].read_text()) for name in names]
    if any(qc != qcs[0] for qc in qcs):
        raise InputError("the encoders were not measured on the same receptors and splits")
    metadata = {name: tables.metadata(paths[f"{name}.auroc.parquet"]) for name in names}
    digests = {"splits_digest": metadata[names[0]]["splits_digest"]}
    titles = Titles({name: metadata[name]["title"] for name in names})

    def joined(kind: str) -> pa.Table:
        return pa.concat_tables([tables.read(paths[f"{name}.{kind}.parquet"]) for name in names])

    roc, not_evaluated = joined("roc"), joined("not_evaluated")
    columns = not_evaluated.column_names
    not_evaluated = not_evaluated.group_by(columns, use_threads=False).aggregate([]).select(columns)
    splits = [paths[f"{name}.auroc.parquet"] for name in names]
    if not sum(map(tables.n_rows, splits)):
        raise _nothing_measured(not_evaluated)
    write_splits(splits, args.outdir / "auroc", digests)
    for kind in ("splits", "benchmark_receptors"):  # the same of all encoders
        tables.write(
            tables.read(paths[f"{names[0]}.{kind}.parquet"]), args.outdir / f"{kind}.parquet", digests
        )
    parts = [path for path in args.results if ".scores." in path.name]
    if parts:
        with tables.writer(args.outdir / "scores.parquet", schema.SCORES, digests) as writer:
            for path in parts:
                for batch in tables.read_batches(path, tables.BATCH):
                    writer.write_table(batch)
    # One encoder after another: with all of them there are millions of splits.
    summary = fewshot.with_means([fewshot.per_epitope(tables.read(path)) for path in splits])
    compared = comparisons.compare(
        pa.concat_tables([comparisons.compact(tables.read(path)) for path in splits])
    )
    for name, table in (
        ("auroc_summary", summary),
        ("comparisons", compared),
        ("roc", roc),
        ("not_evaluated", not_evaluated),
    ):
        tables.write_both(table, args.outdir / name, digests)
    benchmark.auroc_against_k(summary, titles, args.outdir / "auroc_against_k")
    benchmark.roc_curves(roc, titles, args.outdir / "roc_curves")
    warnings = {name: metadata[name]["warning"] for name in names if metadata[name].get("warning")}
    counts = {**qcs[0], "titles": titles, "warnings": warnings}
    page = benchmark_page.page(summary.to_pandas(), compared.to_pandas(), counts, titles)
    tables.write_text(page, args.outdir / "benchmark.md")
    tables.write_json(counts, args.outdir / "benchmark.json")
    script.write_versions(args, "matplotlib", "pandas", "pyarrow", "scipy")


def write_splits(paths: list[Path], stem: Path, metadata: dict[str, str]) -> None:
    """Write the metrics of every split as one table, and as text unless that is too long for people."""
    if sum(map(tables.n_rows, paths)) <= tables.SPREADSHEET:
        tables.write_both(pa.concat_tables([tables.read(path) for path in paths]), stem, metadata)
        return
    with tables.writer(f"{stem}.parquet", schema.AUROC, metadata) as writer:
        for path in paths:
            writer.write_table(tables.read(path))


def _nothing_measured(not_evaluated: pa.Table) -> InputError:
    encoder_rows = not_evaluated.filter(pc.is_valid(not_evaluated["encoder"]))
    first = encoder_rows.slice(0, 1).to_pylist() or not_evaluated.slice(0, 1).to_pylist()
    named = f"{first[0]['encoder']}: " if first[0]["encoder"] else ""
    return InputError(
        f"no encoder could be measured ({named}{first[0]['reason']})",
        fix="Give other --encoders, --benchmark_rules, --benchmark_chains or --benchmark_test_sets",
    )


if __name__ == "__main__":
    main()
