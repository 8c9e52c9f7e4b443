"""The files that a verb reads and writes, known before its first script."""

import argparse
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from airrvec.app.outputs import Outputs
from airrvec.app.verb_options import LEARNING_VERBS
from airrvec.core import table_parts
from airrvec.core.errors import InputError
from airrvec.core.schema.gamma_delta import FOLDER
from airrvec.core.schema.samples import SAMPLE_TABLES
from airrvec.core.terminal import print_warning
from airrvec.input.samplesheet import checks
from airrvec.input.samplesheet import sheet as samplesheet
from airrvec.input.samplesheet.checks import condition_notes
from airrvec.input.samplesheet.names import name_of, name_problem

MERGED = ("merged", "conflicts", "sources", "same_studies")


def listed_paths(text: str | list[Path]) -> list[Path]:
    """
    Return the paths of ``--reference``: a file, the tables of a folder, or several by commas.

    Raises
    ------
    InputError
        If a path is given twice, or a folder holds no table.
    """
    paths = [path for named in named_paths(text) for path in folder_tables(named)]
    if len(set(paths)) < len(paths):
        raise InputError(f"--reference: '{text}' names one of them twice")
    return paths


# One of these files stands for its folder: that of the verb reference, or a release of VDJdb.
_ONE = ("merged.parquet", "vdjdb_full.txt", "vdjdb.txt", "vdjdb.slim.txt")
_TABLE = re.compile(
    r"(?!readme|licen[sc]e)[^.].*\.(csv|tsv|txt|parquet|h5ad|h5mu|json|zip)(\.(gz|bz2|zst))?", re.IGNORECASE
)


def folder_tables(path: Path) -> list[Path]:
    """
    Return the tables of a folder: `_ONE`, or all files whose ending is of a table; of a file itself.

    Raises
    ------
    InputError
        If a folder holds no table.
    """
    if not os.path.isdir(path):
        return [path]
    names = sorted(entry.name for entry in Path(path).iterdir() if not entry.is_dir())
    one = [name for name in _ONE if name in names][:1]
    if not (tables := one or [name for name in names if _TABLE.fullmatch(name)]):
        raise InputError(f"the folder '{path}' holds no table", fix="Name the files")
    return [Path(path, name) for name in tables]


def named_paths(text: str | list[Path]) -> list[Path]:
    """Return the files and folders of ``--reference``, as they are named; a list of Python as it is."""
    if not isinstance(text, str):
        return text
    return [Path(text)] if os.path.exists(text) else [Path(part.strip()) for part in text.split(",")]


def columns_of(column_map: Path | None) -> dict | None:
    """Return the column map of a file, if there is one."""
    from airrvec.input.reading import read_column_map

    return read_column_map(column_map) if column_map else None


def publish(folder: Path, names: Sequence[str], outdir: Path) -> None:
    """Move the tables of a merged reference, and the rejects of each source, to the folder of the results."""
    (outdir / "rejects").mkdir(parents=True, exist_ok=True)
    for name in MERGED:
        for path in (folder / "merged").glob(f"{name}.*"):  # a large table has no text
            shutil.move(path, outdir / path.name)
    for name in names:
        shutil.move(folder / f"{name}.rejects.parquet", outdir / f"rejects/{name}.parquet")


# --- Input of the command ``airrvec``: tables or a samplesheet, with the rules and checks of the pipeline


def samples(args: argparse.Namespace, *, check: bool = True) -> list[checks.Table]:
    """
    Return the tables that are given, or the samples of one samplesheet, checked as in the pipeline.

    Parameters
    ----------
    args : argparse.Namespace
        From `airrvec.app.cli.parser`: ``tables``, ``format``, ``column_map``, ``species`` and
        ``failed_samples``.
    check : bool
        Whether the beginning of each table is read.

    Raises
    ------
    InputError
        With all problems. With ``--failed-samples skip``, only if a problem concerns no single sample, or no
        sample remains.
    """
    if args.format and args.column_map:
        raise InputError("--column-map: a table with a column map has no format", fix="Leave out --format")
    sheet = _sheet(args)
    tables, problems = _tables_of_sheet(args, sheet) if sheet else _tables_of_files(args)
    _, table_problems = checks.check(tables) if check else (None, [])
    conditions = {name: getattr(args, name, None) for name in checks.CONDITIONS}
    unknown = samplesheet.condition_problems(conditions, sheet)
    problems = sorted([*problems, *unknown, *table_problems], key=lambda problem: problem.row)
    failed = {problem.sample for problem in problems}
    remaining = [table for table in tables if table.name not in failed]
    reasons = [str(problem.error) for problem in problems]
    raise_or_print(args, reasons, stops=None in failed or not remaining, title="problems in the input")
    for note in condition_notes(conditions, sheet, failed):
        print_warning(f"WARNING: {note}")
    return remaining


def named_files(args: argparse.Namespace) -> list[Path]:
    """Return all files that the tables or the samplesheet of a verb name, read or not."""
    sheet = _sheet(args)
    rows = checks.tables_of(sheet, args.column_map) if sheet else []
    row_files = [path for row in rows for path in (row.path, row.column_map)]
    return [path for path in (*args.tables, *row_files) if path is not None]


def raise_or_print(args: argparse.Namespace, reasons: list[str], *, stops: bool, title: str) -> None:
    """
    Raise all reasons as one error, or print each and continue.

    Raises
    ------
    InputError
        If there are reasons, and ``stops`` or ``--failed-samples stop``.
    """
    if reasons and (stops or args.failed_samples == "stop"):
        fix = None if stops else "To go on with the other samples, add --failed_samples skip"
        raise InputError(title, fix=fix, reasons=reasons)
    for reason in reasons:
        print_warning(f"MISSING: {reason}")


def _sheet(args: argparse.Namespace) -> samplesheet.Sheet | None:
    is_one = len(args.tables) == 1 and samplesheet.is_samplesheet(args.tables[0])
    return samplesheet.read(args.tables[0], args.species) if is_one else None


def _tables_of_sheet(
    args: argparse.Namespace, sheet: samplesheet.Sheet
) -> tuple[list[checks.Table], list[samplesheet.Problem]]:
    tables = checks.tables_of(sheet, args.column_map)
    for table in tables:
        if table.part != "sample":
            print_warning(f"NOTE: {table.place}: only the pipeline reads the role {table.part}")
    with_format = [
        table if table.format or table.column_map else replace(table, format=args.format)
        for table in tables
        if table.part == "sample"
    ]
    return with_format, sheet.problems


def _tables_of_files(args: argparse.Namespace) -> tuple[list[checks.Table], list[samplesheet.Problem]]:
    tables, problems = [], []
    seen: dict[str, Path] = {}
    paths = args.tables
    if args.verb == "reference":
        paths = [path for named in args.tables for path in folder_tables(named)]
    for number, path in enumerate(paths, start=1):
        name = name_of(path)
        problem = None if name else f"the file name of '{path}' gives no sample name"
        if name.lower() in seen:
            problem = f"two tables are called '{name}', {seen[name.lower()]} and {path}"
        if problem:
            error = InputError(problem, fix="Rename a file, or give a samplesheet")
            problems.append(samplesheet.Problem(error, row=number))
        seen.setdefault(name.lower(), path)
        layout = (args.format, args.column_map, args.species)
        tables.append(checks.Table("sample", name, path.name, number, path, None, *layout))
    return tables, problems


# --- The files that a verb reads and writes, known before its first script

APART = ("cells.parquet", "chains.parquet")  # of γδ cells, in their folder
NORMALISED = ("cells.parquet", "chains.parquet", "receptors_0000.parquet", "rejects.parquet", "qc.json")


def _both(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}.{kind}" for stem in stems for kind in ("parquet", "tsv"))


def _figures(*stems: str) -> tuple[str, ...]:
    return tuple(f"{stem}.{kind}" for stem in stems for kind in ("svg", "png"))


CONDITIONS = (
    *_both("tests", "measures", "told", "steps", "changes"),
    "conditions.qc.json",
)  # with --compare-by
HLA = (*_both("hla"), "hla.qc.json")  # of cluster, with HLA in the samplesheet
# Verb → the names of its results, if they are the same for all inputs.
TOGETHER = {
    "cluster": (
        *_both("clusters", "members", "motifs"),
        *_figures("logos"),
        "clusters.qc.json",
    ),
    "compare": (
        *_both("pairs", "samples_pca", "public", *SAMPLE_TABLES),
        *("sample_vectors.parquet", "comparison.qc.json", "samples.qc.json"),
    ),
    "clones": (
        *_both("clones"),
        *("clones_by_sample.tsv", "counts.parquet", "members.parquet", "samples.parquet", "clones.qc.json"),
    ),
    "benchmark": (
        *_both("auroc", "auroc_summary", "comparisons", "roc", "not_evaluated"),
        *_figures("auroc_against_k", "roc_curves"),
        *(
            "benchmark.md",
            "benchmark.json",
            "splits.parquet",
            "benchmark_receptors.parquet",
            "scores.parquet",
        ),
    ),
}
MODEL = (
    *("config.json", "model.safetensors", "training_labels.parquet", "README.md"),
    *("training.parquet", "training_times.parquet", *_figures("training")),
)
CHECKPOINTS = ("last.ckpt", "last.damaged", "previous.ckpt", "previous.damaged", "log.tsv")


# Options that may name files and folders, or several with commas.
_READ = (
    *("model", "encoders", "column_map", "background", "hub_cache", "references"),
    *("finetune_preset", "preset", "finetune_loss", "pretrain_loss", "train_callbacks"),
)


def outputs(args: argparse.Namespace, names: Sequence[str]) -> Outputs:
    """
    Return what a verb writes.

    Parameters
    ----------
    args : argparse.Namespace
        Of the verb.
    names : sequence of str
        Names of its samples.
    """
    read = tuple(inputs(args))
    if args.verb == "embed":
        return _beside(args.out, _embedded(args.out, names), read, args.overwrite)
    if args.verb == "nearest":
        return _beside(args.out, ((args.out.name,),), read, args.overwrite)
    return Outputs(args.outdir, _units(args, names), read, args.overwrite)


def _units(args: argparse.Namespace, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    if args.verb == "normalise":
        return tuple(_normalised(name) for name in names)
    if args.verb == "annotate":
        return tuple((*_normalised(name), *_both(name), f"{name}.annotation.qc.json") for name in names)
    if args.verb == "reference":
        return (_both(*MERGED), *((f"rejects/{name}.parquet",) for name in names))
    if args.verb in LEARNING_VERBS:
        measured = (*_both("split", "specificity", "unseen"), "finetune.qc.json")
        model = tuple(f"{model_name(args)}/{name}" for name in MODEL)
        without_labels = tuple(name for name in model if not name.endswith("training_labels.parquet"))
        return (measured, model) if args.verb == "finetune" else (without_labels,)
    more = CONDITIONS if getattr(args, "compare_by", None) else ()
    return ((*TOGETHER[args.verb], *more, *(HLA if names_hla(args) else ())),)


def names_hla(args: argparse.Namespace) -> bool:
    """Return whether a verb compares clusters with HLA, which its samplesheet names."""
    sheet = _sheet(args) if args.verb == "cluster" else None
    return sheet is not None and any(sample.hla for sample in sheet.samples)


def _normalised(name: str) -> tuple[str, ...]:
    return (*(f"{name}.{kind}" for kind in NORMALISED), *(f"{FOLDER}/{name}.{kind}" for kind in APART))


def _embedded(out: Path, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    per_table = tuple(
        tuple(
            f"{tables_folder(out)}/{path}"
            for path in _normalised(name)
            if not path.endswith("receptors_0000.parquet")
        )
        for name in names
    )
    return ((out.name, receptors_name(out)), *per_table)


COMPARED = ("changed_pairs", "changed_calls")


def comparison(args: argparse.Namespace) -> Outputs:
    """Return the outputs of the verb ``reference`` with ``--compare``."""
    return Outputs(args.outdir, (_both(*COMPARED),), tuple(args.compare), args.overwrite)


def answer_file(args: argparse.Namespace) -> Outputs:
    """Return the outputs of the verb ``find``."""
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
    Return the outputs of a verb with ``--out``: this file, and others in its folder.

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
    Return the name of a trained model, which is that of its folder.

    Raises
    ------
    InputError
        If it is no name of a folder.
    """
    preset = args.finetune_preset if args.verb == "finetune" else args.preset
    name = Path(preset).name.removesuffix(".json") if args.name is None else args.name
    if problem := name_problem(name):
        raise InputError(f"--name: {problem}")
    return name


def checkpoints(args: argparse.Namespace) -> Outputs:
    """Return the files that training changes while it works."""
    prefix, folder = model_name(args), args.checkpoints
    if folder is None:
        prefix, folder = f"checkpoints/{prefix}", args.outdir
    names = tuple(f"{prefix}/{name}" for name in CHECKPOINTS)
    return Outputs(folder, (names,), tuple(inputs(args)), args.overwrite)


def inputs(args: argparse.Namespace) -> Iterator[Path]:
    """Yield the files and folders that a verb reads."""
    if args.verb == "find":
        yield from _existing([" ".join(args.query), str(args.index)])
    else:
        yield from named_files(args)
    words = [str(getattr(args, name, None) or "") for name in _READ]
    yield from _existing(part for word in words for part in (word, *word.split(",")))
    if args.verb == "annotate":
        yield from named_paths(args.reference)


def _existing(words: Iterable[str]) -> Iterator[Path]:
    yield from (Path(word) for word in words if word and os.path.lexists(word))
