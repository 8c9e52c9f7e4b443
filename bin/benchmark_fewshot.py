#!/usr/bin/env python3
"""Measure few-shot epitope prediction with one encoder: metrics of every split, and ROC curves."""

import logging
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from airrvec.core import runtime, schema, script, settings, tables
from airrvec.core.chains import CHAIN_CLASSES
from airrvec.core.errors import InputError, require_choice
from airrvec.core.missing import optional_part
from airrvec.core.progress import counter
from airrvec.core.seeds import short_hash
from airrvec.evaluation.options import add_labelled_options, labelled_options

import pyarrow as pa
import pyarrow.compute as pc


def parse_args(argv=None):
    parser = script.parser(__doc__)
    add_labelled_options(parser)
    parser.add_argument("--encoder", required=True, help="encoder: a name, a model folder or a Python file")
    parser.add_argument("--name", help="name of the encoder in tables and files; if not given, --encoder")
    settings.add(parser, "hub_cache", type=Path)
    settings.add(
        parser,
        "device",
        *("benchmark_k", "benchmark_splits", "benchmark_min_positives", "benchmark_rules"),
        *("benchmark_chains", "benchmark_test_sets", "benchmark_with_excluded"),
        "benchmark_scores",
    )
    parser.add_argument(
        "--trained-on",
        type=Path,
        nargs="+",
        default=[],
        help="training_labels.parquet of the run's models; these receptors are excluded for all encoders",
    )
    script.add_options(parser, "background", "seed", "threads", "outdir", "missing")
    return parser.parse_args(argv)


@optional_part("benchmark")
def main(argv=None):
    args = parse_args(argv)
    runtime.limit_threads(args.threads)
    from airrvec import encoders
    from airrvec.evaluation import fewshot, scoring, training_labels
    from airrvec.evaluation.rules import RULES
    from airrvec.evaluation.similarity import TEST_SETS
    from airrvec.synthetic.background import negatives

    name = args.name or args.encoder
    encoder, title = encoders.load_titled(args.encoder, name, hub_cache=args.hub_cache, device=args.device)
    rules = _words("--benchmark-rules", args.benchmark_rules, RULES)
    chains = _words("--benchmark-chains", args.benchmark_chains, CHAIN_CLASSES)
    test_sets = _words("--benchmark-test-sets", args.benchmark_test_sets, TEST_SETS)
    options = labelled_options(args)
    background = None
    if any(RULES[rule].takes == "vectors" for rule in rules):
        leave_out = options["receptors"]["clonotype_id"]
        background = negatives(args.background, species=args.species, seed=args.seed, leave_out=leave_out)
    score = partial(scoring.score, rules=rules, test_sets=test_sets, background=background)
    own_labels = training_labels.labels_from_encoder(args.encoder)
    labels = training_labels.read_labels(args.trained_on) | own_labels
    options["leave_out"] = labels if _enough_left(fewshot, options, labels, args) else None
    measured, results, not_evaluated = {}, [], []
    membership: dict[str, list[pa.Table]] = {"splits": [], "benchmark_receptors": []}
    warnings = [training_labels.not_recorded_warning(model) for model in own_labels.not_recorded]
    for labelled in _labelled(fewshot, options, args.benchmark_with_excluded, not_evaluated):
        splits, left_out = _planned(fewshot, labelled, args)
        n_seen = int(own_labels.include(labelled.receptors).sum())
        if n_seen:
            warnings.append(training_labels.kept_warning(name, n_seen, len(labelled.receptors)))
        if not splits:
            raise _nothing_to_evaluate(labelled, left_out)
        not_evaluated.append(left_out)
        measured[labelled.excluded] = _counts(labelled, fewshot.digest(labelled, splits))
        membership["splits"].append(fewshot.splits_table(labelled, splits))
        membership["benchmark_receptors"].append(fewshot.receptors_table(labelled))
        for chosen in chains:
            noun = f"splits scored (chains: {chosen}, references excluded: {labelled.excluded})"
            progress = counter(noun, sum(len(split.references) for split in splits))
            with _kept(args, f"{name}.scores.{len(results)}.parquet") as keep:
                options = {"chains": chosen, "progress": progress, "keep": keep}
                results.append(score(encoder, name, labelled, splits, **options))
    digests = {"splits_digest": ",".join(counts["splits_digest"] for counts in measured.values())}
    digests["title"] = title + (training_labels.TRAINED_ON_MARK if warnings else "")
    digests["warning"] = "; ".join(warnings)
    for warning in warnings:
        logging.getLogger(__name__).warning(warning)
    scores = scoring.Scores.joined(results)
    left_out = pa.concat_tables([*not_evaluated, scores.not_evaluated])
    made = {"auroc": scores.auroc, "roc": scores.roc, "not_evaluated": left_out}
    made |= {kind: pa.concat_tables(parts) for kind, parts in membership.items()}
    for kind, table in made.items():
        tables.write(table, args.outdir / f"{name}.{kind}.parquet", digests)
    tables.write_json(_qc(measured, background), args.outdir / f"{name}.qc.json")
    packages = ["numba", "numpy", "olga", "pyarrow", "rapidfuzz", "scikit-learn", "scipy"]
    used = [package for package in ("torch", "transformers") if package in sys.modules]
    script.write_versions(args, *packages, *used)


@contextmanager
def _kept(args, file: str) -> Iterator[Callable[[pa.Table], None] | None]:
    """Yield a function that writes scores to a file; None if no scores are to be kept."""
    if not args.benchmark_scores:
        yield None
        return
    with tables.writer(args.outdir / file, schema.SCORES) as writer:
        yield writer.write_table


def _qc(measured: dict[str, dict], background: pa.Table | None) -> dict:
    """Return the counts of the benchmark, and a digest of the background receptors if a rule takes them."""
    first, *rest = measured.values()
    qc = {**first, "with_excluded": rest[0] if rest else None}
    if background is not None:
        qc["background"] = short_hash(background["receptor_id"].to_pylist())
    return qc


def _words(option: str, words: str, choices: Collection[str]) -> tuple[str, ...]:
    """Return the words of an option, which are separated by commas."""
    for word in words.split(","):
        require_choice(option, word, choices)
    return tuple(words.split(","))


def _numbers(option: str, words: str) -> list[int]:
    """Return the numbers of an option, ascending, each once."""
    numbers = sorted({int(word) if word.strip().isdecimal() else 0 for word in words.split(",")})
    if numbers[0] < 1:
        raise InputError(f"{option} is '{words}', and must be whole numbers from 1 on, separated by commas")
    return numbers


def _planned(fewshot, labelled, args) -> tuple:
    return fewshot.plan_splits(
        labelled,
        ks=_numbers("--benchmark-k", args.benchmark_k),
        n_splits=args.benchmark_splits,
        min_positives=args.benchmark_min_positives,
        seed=args.seed,
    )


def _enough_left(fewshot, options: dict, labels, args) -> bool:
    """Return whether an epitope can be measured without the receptors that models were trained on."""
    labelled = fewshot.select_labelled(**options, leave_out=labels)
    return not labelled.removed.get(fewshot.TRAINED_ON) or bool(_planned(fewshot, labelled, args)[0])


def _labelled(fewshot, options: dict, with_excluded: bool, not_evaluated: list) -> Iterator:
    """Yield the labelled receptors, and, if requested and different, those with the excluded references."""
    labelled = fewshot.select_labelled(**options)
    yield labelled
    if not with_excluded or options["exclude_references"] is None:
        return
    everything = fewshot.select_labelled(**{**options, "exclude_references": None})
    if everything.sources.equals(labelled.sources):
        reason = f"no reference left out by '{labelled.excluded}' could be measured: the results are the same"
        row = {"excluded": everything.excluded, "reason": reason}
        not_evaluated.append(pa.Table.from_pylist([row], schema.NOT_EVALUATED))
    else:
        yield everything


def _counts(labelled, digest: str) -> dict:
    return {
        "excluded": labelled.excluded,
        "receptors": len(labelled.receptors),
        "clonotypes": pc.count_distinct(labelled.receptors["clonotype_id"]).as_py(),
        "epitopes": len(labelled.epitopes),
        "pairs": sum(map(len, labelled.epitopes.values())),
        "removed": labelled.removed,
        "splits_digest": digest,
    }


def _nothing_to_evaluate(labelled, not_evaluated) -> InputError:
    n = {name: len(rows) for name, rows in labelled.epitopes.items()}
    if not n:
        left_out = "; ".join(f"{count} {reason}" for reason, count in labelled.removed.items() if count)
        return InputError(
            f"the labelled table holds no receptor with an epitope and both chains complete ({left_out})",
            fix="See docs/reference/input.md for the columns that name the epitope",
        )
    largest = max(n, key=n.__getitem__)
    largest_rows = [row for row in not_evaluated.to_pylist() if row["epitope"] == largest]
    reason = min(largest_rows, key=lambda row: row["k"])["reason"]
    return InputError(
        f"no epitope has enough receptors; the most has {largest}: {reason}",
        fix="Label more receptors, or lower --benchmark_min_positives or --benchmark_k",
    )


if __name__ == "__main__":
    main()
