"""The verbs ``index`` and ``find``."""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from airrvec.core import chains as chain_words
from airrvec.core import runtime, tables
from airrvec.core.errors import InputError
from airrvec.core.plural import counted

DEFAULT_INDEX = "airrvec_index"
TEMPORARY = {"n_cells": 1, "n_background": 20_000}  # index of results that no index holds
SHOWN = 60  # widest column of the terminal


def add_index_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of the verb ``index``."""
    verb.add_argument("results", type=Path, nargs="*", help="--outdir of runs; none: list the runs")
    verb.add_argument("--index", type=Path, default=default_index(), help="folder of the index")
    verb.add_argument("--model", help="folder of the model, where the results do not hold it")
    verb.add_argument("--background", type=int, help="background receptors of a new index (100,000)")
    verb.add_argument("--remove", metavar="RUN", help="remove a run: its results, or its name in the list")
    verb.add_argument("--check", action="store_true", help="read the whole index, compare all checksums")
    verb.add_argument("--cpus", type=int, default=os.cpu_count(), help="threads")


def add_find_options(verb: argparse.ArgumentParser, species: list[str]) -> None:
    """Add the options of the verb ``find``."""
    verb.add_argument("query", nargs="+", help="a receptor in words, or a table of receptors in any format")
    verb.add_argument(
        "--in",
        dest="place",
        type=Path,
        default=default_index(),
        metavar="FOLDER",
        help="an index, or the --outdir of a run",
    )
    verb.add_argument("--k", type=int, default=10, help="neighbours of each query")
    verb.add_argument("--radius", type=float, help="all receptors within this distance instead")
    verb.add_argument(
        "--chains",
        choices=chain_words.CHAIN_CLASSES,
        help="chains to compare; by default those of a query",
    )
    verb.add_argument("--exact", action="store_true", help="compare with all receptors")
    verb.add_argument("--species", choices=species, default=species[0], help="of queries that name none")
    verb.add_argument("--format", help="of a table, detected from the columns if not given")
    verb.add_argument("--column-map", type=Path, help="column map of a table, JSON")
    verb.add_argument("--model", help="folder of the model, where the results do not hold it")
    verb.add_argument("--out", type=Path, help="write all columns to this file, .tsv or .parquet")
    verb.add_argument("--cpus", type=int, default=os.cpu_count(), help="threads")


def default_index() -> Path:
    """Return the index that is used if none is named: of the environment, or of this folder."""
    return Path(os.environ.get("AIRRVEC_INDEX") or DEFAULT_INDEX)


def index(args: argparse.Namespace) -> None:
    """Add runs to an index, list them, remove one, or read the whole index."""
    from airrvec.app import indexing, run_index

    runtime.limit_threads(args.cpus)
    for path in args.results:
        results = indexing.open_results(path)
        model = indexing.model_of(results, args.model)
        options = {"n_background": args.background} if args.background else {}
        opened = run_index.create_index(args.index, model, threads=args.cpus, **options)
        print(indexing.add_run(opened, results), flush=True)
    if args.results:
        return
    opened = run_index.open_index(args.index, threads=args.cpus)
    if args.remove:
        opened.remove(_run_named(opened, args.remove))
    if args.check:
        run_index.check(opened)
    for line in run_index.described(opened.runs()):
        print(line)


def _run_named(opened, name: str):
    path = str(Path(name).resolve())
    for run in opened.runs():
        if name == run.folder.name or path == run.about["results"]:
            return run
    fix = f"airrvec index --index {opened.folder} lists its runs"
    raise InputError(f"the index holds no run '{name}'", fix=fix)


def find(args: argparse.Namespace) -> None:
    """Print the nearest receptors of each query, or write them to a file."""
    from airrvec.app.finding import Search, find
    from airrvec.app.queries import read_queries

    if args.k < 1 or (args.radius is not None and args.radius < 0):
        raise InputError("--k is less than 1, or --radius less than 0")
    if args.out and args.out.suffix not in (".tsv", ".parquet"):
        raise InputError(f"--out: '{args.out}' ends in neither .tsv nor .parquet", fix="Choose one of them")
    runtime.limit_threads(args.cpus)
    queries = read_queries(
        " ".join(args.query), species=args.species, format=args.format, column_map=args.column_map
    )
    search = Search(args.k, args.radius, args.chains, args.exact)
    with tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
        answers = find(_opened(args, Path(folder), queries, search), queries, search)
    if args.out:
        _write(answers, args.out)
    else:
        for line in shown(answers):
            print(line)
    for line in _problem_lines(answers.problems, args.out):
        print(line, file=sys.stderr)
    if not len(answers.found):
        sys.exit(1)


def _opened(args: argparse.Namespace, temporary: Path, queries, search):
    """Return the index to search: the given one, or one of the given results, made in a temporary folder."""
    from airrvec.app import indexing, run_index
    from airrvec.app.finding import classes_searched

    if run_index.is_index(args.place) or not (args.place / "embeddings").is_dir():
        opened = run_index.open_index(args.place, threads=args.cpus)
        for run in opened.runs():
            now = indexing.manifest_digest(Path(run.about["results"]))
            if now not in (None, run.about["manifest"]):
                path, again = run.about["results"], f"airrvec index --index {args.place}"
                print(f"WARNING: {path} has changed since; index it again: {again} {path}", file=sys.stderr)
        return opened
    results = indexing.open_results(args.place, finished=False)
    model = indexing.model_of(results, args.model)
    opened = run_index.create_index(temporary / "index", model, threads=args.cpus, **TEMPORARY)
    indexing.add_run(opened, results, classes_searched(queries.receptors, search, opened))
    return opened


def _write(answers, out: Path) -> None:
    write = tables.write if out.suffix == ".parquet" else tables.write_tsv
    write(answers.found, out)
    write(answers.problems, out.with_suffix(f".rejects{out.suffix}"))
    n = len(answers.found["query_row"].unique())
    said = f"{counted(len(answers.found), 'neighbour')} of {counted(n, 'query', 'queries')}"
    print(f"{out}: {said}", file=sys.stderr)


def _problem_lines(problems, out: Path | None) -> Iterator[str]:
    """Yield what to know of queries without an answer: the first reasons."""
    rows = problems.to_pylist()
    for row in rows[:5]:
        what = "" if row["answered"] else "no answer: "
        value = f" ({row['field'] or 'query'} '{row['value']}')" if row["value"] else ""
        yield f"MISSING: {row['query'] or ''} row {row['query_row']}: {what}{row['reason']}{value}"
    if len(rows) > 5:
        where = out.with_suffix(f".rejects{out.suffix}") if out else "--out FILE writes them"
        yield f"MISSING: {len(rows) - 5} more ({where})"


def shown(answers) -> Iterator[str]:
    """Yield the lines of the terminal: a table for each query."""
    rows = answers.found.to_pylist()
    n = {name.split(".")[1]: n for name, n in answers.n_searched.items()}
    step = {chains: size / answers.n_background for chains, size in n.items()}
    starts = [i for i, row in enumerate(rows) if row["rank"] == 1]
    for begin, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        first = rows[begin]
        title = first["query_receptor"]
        label = "" if first["query"] in (title, "") or len(starts) == 1 else f"{first['query']}: "
        searched = f"{n[first['chains']]:,} receptors searched, {chain_words.CHAIN_TITLES[first['chains']]}"
        yield f"{label}{title} ({searched})"
        table = [_shown_row(row, step[row["chains"]]) for row in rows[begin:end]]
        columns = [name for name in table[0] if any(row[name] for row in table)]
        lines = [columns, *([row[name] for name in columns] for row in table)]
        widths = [min(SHOWN, max(len(line[i]) for line in lines)) for i in range(len(columns))]
        for line in lines:
            cells = [_cut(cell).rjust(w) if i < 3 else _cut(cell).ljust(w)
                     for i, (cell, w) in enumerate(zip(line, widths, strict=True))]  # fmt: skip
            yield "  ".join(cells).rstrip()
        yield ""


def _shown_row(row: dict, step: float) -> dict[str, str]:
    epitope = row["epitope"] or (f"{row['call_epitope']} (called)" if row["call_epitope"] else "")
    species = row["antigen_species"] or row["call_antigen_species"]
    return {
        "rank": str(row["rank"]),
        "distance": f"{row['distance']:.3f}",
        "by chance": f"{row['n_expected']:,.2g}" if row["n_background"] else f"< {step:.2g}",
        "receptor": row["receptor"],
        "epitope": f"{epitope} ({species})" if species else epitope,
        "samples": row["samples"] or "",
        "metadata": row["metadata"] or "",
        "run": row["run"],
    }


def _cut(cell: str) -> str:
    return cell if len(cell) <= SHOWN else f"{cell[: SHOWN - 1]}…"
