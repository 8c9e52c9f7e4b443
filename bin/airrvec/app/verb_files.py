"""The files that a verb reads and writes, known before its first script."""

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from airrvec.app import references
from airrvec.app.command_samples import named_files
from airrvec.app.outputs import Outputs
from airrvec.core import table_parts
from airrvec.core.errors import InputError
from airrvec.input.samplesheet.names import name_problem

NORMALISED = ("cells.parquet", "chains.parquet", "receptors_0000.parquet", "rejects.parquet", "qc.json")


def _both(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}.{kind}" for stem in stems for kind in ("parquet", "tsv"))


def _figures(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}.{kind}" for stem in stems for kind in ("svg", "png"))


# Verb → the names of its results, if they are the same for all inputs.
TOGETHER = {
    "cluster": (
        *_both("clusters", "members", "motifs", "conditions"),
        *_figures("logos"),
        "clusters.qc.json",
    ),
    "compare": (*_both("diversity", "pairs", "samples_pca", "conditions", "public"), "comparison.qc.json"),
    "benchmark": (
        *_both("auroc", "auroc_summary", "comparisons", "roc", "not_evaluated"),
        *_figures("auroc_against_k", "roc_curves"),
        *("benchmark.md", "benchmark.json"),
    ),
}
MODEL = (
    *("config.json", "model.safetensors", "training_labels.parquet", "README.md"),
    *("training.parquet", "training_times.parquet", *_figures("training")),
)
CHECKPOINTS = ("last.ckpt", "last.damaged", "previous.ckpt", "previous.damaged", "log.tsv")


def outputs(args: argparse.Namespace, more: Sequence[str], names: Sequence[str]) -> Outputs:
    """
    Return what a verb writes.

    Parameters
    ----------
    args : argparse.Namespace
        Of the verb.
    more : sequence of str
        Further words, for its script.
    names : sequence of str
        Names of its samples.
    """
    read = tuple(inputs(args, more))
    if args.verb == "embed":
        return _beside(args.out, _embedded(args.out, names), read, args.overwrite)
    return Outputs(args.outdir, _units(args, names), read, args.overwrite)


def _units(args: argparse.Namespace, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    if args.verb == "normalise":
        return tuple(_normalised(name) for name in names)
    if args.verb == "annotate":
        return tuple((*_normalised(name), *_both(name), f"{name}.annotation.qc.json") for name in names)
    if args.verb == "reference":
        return (_both(*references.MERGED), *((f"rejects/{name}.parquet",) for name in names))
    if args.verb == "finetune":
        measured = (*_both("split", "specificity", "unseen"), "finetune.qc.json")
        return (measured, tuple(f"{model_name(args)}/{name}" for name in MODEL))
    return (TOGETHER[args.verb],)


def _normalised(name: str) -> tuple[str, ...]:
    return tuple(f"{name}.{kind}" for kind in NORMALISED)


def _embedded(out: Path, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    kinds = [kind for kind in NORMALISED if not kind.startswith("receptors")]
    per_table = tuple(tuple(f"{tables_folder(out)}/{name}.{kind}" for kind in kinds) for name in names)
    return ((out.name, receptors_name(out)), *per_table)


def answer_file(args: argparse.Namespace) -> Outputs:
    """Return what the verb ``find`` writes."""
    unit = (args.out.name, rejects_path(args.out).name)
    return _beside(args.out, (unit,), tuple(inputs(args)), args.overwrite)


def rejects_path(out: Path) -> Path:
    """Return where the verb ``find`` writes the queries without an answer."""
    return out.with_suffix(f".rejects{out.suffix}")


def receptors_name(out: Path) -> str:
    """Return the name of the receptors whose vectors are in a file."""
    return out.with_suffix(f".receptors{out.suffix}").name


def tables_folder(out: Path) -> str:
    """Return the name of the folder of the tables whose receptors' vectors are in a file."""
    return f"{out.stem}_tables"


def _beside(
    out: Path, units: tuple[tuple[str, ...], ...], read: tuple[Path, ...], overwrite: bool
) -> Outputs:
    """
    Return what a verb with ``--out`` writes: this file, and others beside it.

    Raises
    ------
    InputError
        If the suffix names no format, or the file is a folder.
    """
    if out.is_dir():
        raise InputError(f"--out: '{out}' is a folder", fix="Give a file")
    table_parts.check_suffix(out, "--out")
    return Outputs(out.parent, units, read, overwrite, option="--out")


def model_name(args: argparse.Namespace) -> str:
    """
    Return the name of a fine-tuned model, which is that of its folder.

    Raises
    ------
    InputError
        If it is no name of a folder.
    """
    name = args.preset if args.name is None else args.name
    if problem := name_problem(name):
        raise InputError(f"--name: {problem}")
    return name


def checkpoints(args: argparse.Namespace, more: Sequence[str]) -> Outputs:
    """Return the files that training changes while it works."""
    prefix, folder = model_name(args), args.checkpoints
    if folder is None:
        prefix, folder = f"checkpoints/{prefix}", args.outdir
    names = tuple(f"{prefix}/{name}" for name in CHECKPOINTS)
    return Outputs(folder, (names,), tuple(inputs(args, more)), args.overwrite)


def inputs(args: argparse.Namespace, more: Sequence[str] = ()) -> Iterator[Path]:
    """Yield the files and folders that a verb reads, also those that further words name for its script."""
    if args.verb == "find":
        yield from _existing([" ".join(args.query), str(args.place)])
    else:
        yield from named_files(args)
    words = [part for word in more for part in word.split("=", 1)]
    words += [args.model or "", getattr(args, "encoders", ""), str(args.column_map or "")]
    yield from _existing(part for word in words for part in (word, *word.split(",")))
    if args.verb == "annotate":
        yield from references.named_paths(args.reference)


def _existing(words: Iterable[str]) -> Iterator[Path]:
    yield from (Path(word) for word in words if word and os.path.lexists(word))
