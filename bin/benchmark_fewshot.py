#!/usr/bin/env python3
"""Few-shot epitope prediction with one encoder: AUROC of every split, and ROC curves."""

import json
from pathlib import Path

from airrvec import cli, tables
from airrvec.errors import InputError, exit_on_input_error


def parse_args(argv=None):
    parser = cli.parser(__doc__)
    cli.add_labelled_options(parser)
    parser.add_argument("--encoder", required=True, help="a name, or the folder of a model")
    parser.add_argument("--name", help="of the encoder in tables and files; else as --encoder")
    parser.add_argument("--k", default="1,2,5,10,20,50,100,200", help="numbers of references")
    parser.add_argument("--splits", type=int, default=100, help="random splits for each k above 1")
    parser.add_argument("--min-positives", type=int, default=100, help="receptors left to test")
    parser.add_argument("--seed", type=int, default=420)
    parser.add_argument("--cpus", type=int, default=1, help="threads")
    parser.add_argument("--outdir", type=Path, default=Path("."))
    return parser.parse_args(argv)


@exit_on_input_error
def main(argv=None):
    args = parse_args(argv)
    cli.limit_threads(args.cpus)
    from airrvec import encoders, fewshot

    name = args.name or args.encoder
    encoder = encoders.load(args.encoder)
    labelled = fewshot.select_labelled(**cli.labelled_options(args))
    splits, not_evaluated = fewshot.plan_splits(
        labelled,
        ks=sorted({int(k) for k in args.k.split(",")}),
        n_splits=args.splits,
        min_positives=args.min_positives,
        seed=args.seed,
    )
    if not splits:
        raise _nothing_to_evaluate(labelled, not_evaluated)
    digest = {"splits_digest": fewshot.digest(labelled, splits)}
    progress = cli.progress("splits scored", sum(len(split.references) for split in splits))
    auroc, roc = fewshot.score(encoder, name, labelled, splits, progress=progress)
    tables.write(auroc, args.outdir / f"{name}.auroc.parquet", digest)
    tables.write(roc, args.outdir / f"{name}.roc.parquet", digest)
    tables.write(not_evaluated, args.outdir / f"{name}.not_evaluated.parquet", digest)
    qc = {
        "receptors": len(labelled.receptors),
        "epitopes": len(labelled.epitopes),
        "pairs": sum(map(len, labelled.epitopes.values())),
        "removed": labelled.removed,
        **digest,
    }
    tables.write_text(json.dumps(qc, indent=2) + "\n", args.outdir / f"{name}.qc.json")
    cli.write_versions(args, "numpy", "numba", "pyarrow", "rapidfuzz", "scipy", "sceptr", "torch")


def _nothing_to_evaluate(labelled, not_evaluated) -> InputError:
    n = {name: len(rows) for name, rows in labelled.epitopes.items()}
    if not n:
        left_out = "; ".join(f"{count} {reason}" for reason, count in labelled.removed.items() if count)
        return InputError(
            f"the labelled table holds no receptor with an epitope and both chains complete ({left_out})",
            fix="See docs/input.md for the columns that name the epitope",
        )
    largest = max(n, key=n.get)
    reasons = dict(zip(*(not_evaluated[name].to_pylist() for name in ("epitope", "reason")), strict=True))
    return InputError(
        f"no epitope has enough receptors; the most has {largest}: {reasons[largest]}",
        fix="Label more receptors, or lower --benchmark_min_positives or --benchmark_k",
    )


if __name__ == "__main__":
    main()
