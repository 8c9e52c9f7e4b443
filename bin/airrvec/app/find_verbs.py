"""The verbs ``index`` and ``find``."""

import argparse
import os
import sys
from pathlib import Path

from airrvec.app.places import default_index
from airrvec.core import chains as chain_words
from airrvec.core import runtime
from airrvec.core.errors import InputError
from airrvec.core.script import at_least, named_path
from airrvec.core.terminal import print_lines, print_warning

OVERWRITE = "replace files that this command did not write; its inputs are never replaced"


def add_index_options(verb: argparse.ArgumentParser) -> None:
    """Add the options of the verb ``index``."""
    verb.add_argument("results", type=Path, nargs="*", help="--outdir of runs; none: list the runs")
    verb.add_argument("--index", type=named_path, default=default_index(), help="folder of the index")
    verb.add_argument("--model", help="folder of the model, where the results do not hold it")
    verb.add_argument("--background", type=at_least(1), help="background receptors of a new index (100,000)")
    verb.add_argument("--remove", metavar="RUN", help="remove a run: its results, or its name in the list")
    verb.add_argument("--check", action="store_true", help="read the whole index, compare all checksums")
    verb.add_argument("--threads", type=at_least(1), default=os.cpu_count(), help="threads")


def add_find_options(verb: argparse.ArgumentParser, species: list[str]) -> None:
    """Add the options of the verb ``find``."""
    verb.add_argument("query", nargs="+", help="a receptor in words, or a table of receptors in any format")
    verb.add_argument(
        "--index",
        type=named_path,
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
    verb.add_argument("--out", type=named_path, help="write all columns to this file: .parquet, .tsv, .csv")
    verb.add_argument("--overwrite", action="store_true", help=OVERWRITE)
    verb.add_argument("--threads", type=at_least(1), default=os.cpu_count(), help="threads")


def index(args: argparse.Namespace) -> None:
    """Add runs to an index, list them, remove one, or read the whole index."""
    from airrvec.app import indexing, run_index

    runtime.limit_threads(args.threads)
    for path in args.results:
        if run_index.is_index(args.index) and (said := run_index.already_there(args.index, path)):
            print_lines(said)
            continue
        results = indexing.open_results(path)
        model = indexing.model_of(results, args.model)
        opened = run_index.create_index(args.index, model, n_background=args.background, threads=args.threads)
        print_lines(indexing.add_run(opened, results))
    opened = run_index.open_index(args.index, threads=args.threads)
    if args.remove:
        opened.remove(_run_named(opened, args.remove))
    for line in run_index.clean(opened):
        print_warning(f"NOTE: {line}")
    if args.check:
        run_index.check(opened)
    if not args.results:
        print_lines(*run_index.described(opened.runs()))


def _run_named(opened, name: str):
    path = str(Path(name).resolve())
    for run in opened.runs():
        if name == run.folder.name or path == run.about["results"]:
            return run
    fix = f"airrvec index --index {opened.folder} lists its runs"
    raise InputError(f"the index holds no run '{name}'", fix=fix)


def find(args: argparse.Namespace) -> None:
    """Print the nearest receptors of each query, or write them to a file."""
    from airrvec.app import finding, verb_files
    from airrvec.app.finding import Search, find, opened
    from airrvec.app.queries import read_queries
    from airrvec.input.reading import read_column_map

    search = Search(args.k, args.radius, args.chains, args.exact)
    outputs = verb_files.answer_file(args) if args.out else None
    if outputs:
        outputs.check()
    runtime.limit_threads(args.threads)
    columns = read_column_map(args.column_map) if args.column_map else None
    queries = read_queries(" ".join(args.query), species=args.species, format=args.format, column_map=columns)
    with opened(
        args.index,
        queries,
        search,
        model=args.model,
        threads=args.threads,
        warn=lambda sentence: print_warning(f"WARNING: {sentence}"),
    ) as index:
        answers = find(index, queries, search)
    if outputs:
        with outputs.written() as folder:
            finding.write(answers, folder / args.out.name)
        print_warning(finding.written_line(answers, args.out))
    else:
        print_lines(*finding.shown(answers))
    print_warning(*finding.problem_lines(answers.problems, args.out))
    if not len(answers.hits):
        sys.exit(1)
