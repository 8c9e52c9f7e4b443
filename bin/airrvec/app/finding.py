"""The nearest receptors of all runs of an index, with their samples, metadata and labels."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from airrvec.app import folders, indexing, run_index
from airrvec.app.queries import Queries
from airrvec.app.run_index import CLASSES, LABELS, PART, Run, RunIndex
from airrvec.app.verb_files import rejects_path
from airrvec.core import chains, schema, table_parts, tables
from airrvec.core import chains as chain_words
from airrvec.core.errors import InputError, require_at_least_one, require_choice
from airrvec.core.runtime import in_threads
from airrvec.core.terminal import counted, printable
from airrvec.search import store

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BETWEEN = "; "


@dataclass(frozen=True)
class Search:
    """
    Options of a search.

    Attributes
    ----------
    k : int
        Neighbours of each query.
    radius : float or None
        All within this distance instead.
    chains : str or None
        Compare these chains only, of `airrvec.core.chains.CHAIN_CLASSES`; by default those of the query.
    exact : bool
        Search all cells.

    Raises
    ------
    InputError
        If ``k`` is less than 1, ``radius`` less than 0, or ``chains`` is no class of chains.
    """

    k: int = 10
    radius: float | None = None
    chains: str | None = None
    exact: bool = False

    def __post_init__(self):
        require_at_least_one("k", self.k)
        if self.chains is not None:
            require_choice("chains", self.chains, chain_words.CHAIN_CLASSES)
        if self.radius is not None and not self.radius >= 0:
            raise InputError(f"radius is {self.radius:g}, and must be at least 0")


@dataclass(frozen=True)
class Answers:
    """
    Results of a search.

    Attributes
    ----------
    hits : pyarrow.Table
        `airrvec.core.schema.HITS`: by query, then by rank.
    problems : pyarrow.Table
        `airrvec.core.schema.UNANSWERED`.
    n_searched : dict of str to int
        Receptors of each class, such as ``homosapiens.beta``, that queries were compared with.
    n_background : int
        Background receptors of each class.
    n_runs : int
        Runs of the index.
    """

    hits: pa.Table
    problems: pa.Table
    n_searched: dict[str, int]
    n_background: int
    n_runs: int


def find(index: RunIndex, queries: Queries, search: Search) -> Answers:
    """
    Find the nearest receptors of each query.

    A query is compared with vectors of its own chains, made by the same model, of receptors of its species
    in all runs. ``n_expected`` says how often chance gives as near a one: the share of unselected background
    receptors (OLGA) of the same species and chains that are as near to the query, times the number of
    receptors searched. Its least step is ``n_searched / n_background``: 0 means less than that.

    Returns
    -------
    Answers
        Every query has a row in ``hits``, or one in ``problems`` with the reason.
    """
    receptors = queries.receptors
    hits, n_searched = [], {}
    reasons = np.full(len(receptors), None, object)
    for number, name in enumerate(_classes(receptors, search, index, reasons)):
        mine = np.flatnonzero(name[1])
        if len(mine):
            class_hits = _search_class(index, CLASSES[number], receptors.take(pa.array(mine)), search)
            if class_hits is None:
                word = chain_words.CHAIN_TITLES[CLASSES[number].split(".")[1]]
                reasons[mine] = f"the index holds no receptors of {CLASSES[number].split('.')[0]} with {word}"
                continue
            hit, n = class_hits
            n_searched[CLASSES[number]] = n
            hits.append({**hit, "query": mine[hit["query"]], "class": np.full(len(hit["query"]), number)})
    joined = {
        name: np.concatenate([np.empty(0, dtype), *(hit[name] for hit in hits)])
        for name, dtype in (("query", int), ("class", int), ("run", int), ("row", int), ("n_near", int),
                            ("distance", np.float32))
    }  # fmt: skip
    answered = np.bincount(joined["query"], minlength=len(receptors)) > 0
    none = "it has no vector" if search.radius is None else f"no receptor is within {search.radius:g}"
    reasons[~answered & np.equal(reasons, None)] = none
    table = _table(index, queries, joined, n_searched)
    problems = pa.concat_tables([queries.problems, _unanswered(queries, reasons)])
    return Answers(
        table, problems.sort_by("query_row"), n_searched, index.about["n_background"], len(index.runs())
    )


def _classes(receptors: pa.Table, search: Search, index: RunIndex, reasons: np.ndarray) -> list[tuple]:
    """Return each class with the receptors that are compared in it; note why others cannot be."""
    present = chain_words.chain_classes(receptors)
    compared = present.copy()
    if search.chains:
        lacking = ~chain_words.has_chains(receptors, search.chains)
        compared = np.where(lacking, "", search.chains)
        reasons[lacking] = f"it lacks a chain: {chain_words.CHAIN_TITLES[search.chains]} are compared"
    readable = [chains for chains in chain_words.CHAIN_CLASSES if index.reads(chains)]
    if "paired" not in readable and not search.chains:  # of a pair, a model of one chain reads that one
        compared = np.where((present == "paired") & (len(readable) > 0), readable[0], compared)
    unread = ~np.isin(compared, ["", *readable])
    reasons[unread] = f"the model {index.about['model']} does not read its chains"
    classes = []
    for name in CLASSES:
        species, chains = name.split(".")
        mine = (compared == chains) & ~unread & pc.equal(receptors["species"], species).to_numpy()
        classes.append((name, mine))
    return classes


def classes_searched(receptors: pa.Table, search: Search, index: RunIndex) -> list[str]:
    """Return the classes in which receptors are looked for."""
    reasons = np.full(len(receptors), None, object)
    return [name for name, mine in _classes(receptors, search, index, reasons) if mine.any()]


def _search_class(index: RunIndex, name: str, receptors: pa.Table, search: Search) -> tuple | None:
    """Return the hits of receptors in a class, and the number searched; None if no run has the class."""
    place, runs = index.store(name)
    if not runs:
        return None
    vectors = index.encoder.embed(chain_words.on_chains(receptors, name.split(".")[1]))
    threads = index.threads
    if search.radius is None:
        k = _affordable(min(search.k, len(place)), len(vectors))
        distances, rows = store.nearest(place, vectors, k, exact=search.exact, threads=threads)
        query, rank = np.nonzero(rows >= 0)
        rows, distances = rows[query, rank], distances[query, rank]
    else:
        query, rows, distances = store.within(place, vectors, search.radius, threads=threads)
    background = index.class_array(name, "background")
    near = store.n_near(vectors, background, query, distances, threads=threads)
    segment = np.searchsorted(place.offsets, rows, side="right") - 1
    number = {run.folder: n for n, run in enumerate(index.runs())}
    run = np.array([number[run.folder] for run in runs])[segment]
    hits = {"query": query, "distance": distances, "run": run, "row": rows - place.offsets[segment]}
    return {**hits, "n_near": near}, len(place)


def _affordable(k: int, n_queries: int) -> int:
    """Return ``k``, if so many neighbours of all queries fit into memory."""
    if k * n_queries > store.MOST_PAIRS:
        raise InputError(
            f"{k:,} neighbours of {n_queries:,} queries are more than {store.MOST_PAIRS:,}",
            fix="Choose a smaller k",
        )
    return k


def _table(index: RunIndex, queries: Queries, hits: dict, n_searched: dict) -> pa.Table:
    """Return `airrvec.core.schema.HITS`."""
    order = np.argsort(hits["query"], kind="stable")
    hits = {name: values[order] for name, values in hits.items()}
    details = _details(index, hits["run"], hits["row"])
    sizes = np.bincount(hits["query"], minlength=len(queries.receptors))
    begin = np.cumsum(sizes) - sizes
    cell = np.repeat(np.arange(len(queries.names)), sizes[queries.receptor])
    rank = np.arange(len(cell)) - np.repeat(
        np.cumsum(sizes[queries.receptor]) - sizes[queries.receptor], sizes[queries.receptor]
    )
    hit = begin[queries.receptor[cell]] + rank
    searched = np.array([n_searched.get(name, 0) for name in CLASSES])
    near = hits["n_near"][hit]
    words = np.array([name.split(".")[1] for name in CLASSES])
    query_names = chains.receptor_names(queries.receptors)
    columns = {
        "query": pa.array(queries.names, pa.string()).take(pa.array(cell)),
        "query_row": queries.rows[cell],
        "query_receptor": query_names.take(pa.array(queries.receptor[cell])),
        "chains": words[hits["class"]][hit],
        "rank": rank + 1,
        "distance": hits["distance"][hit],
        "n_expected": near * searched[hits["class"]][hit] / index.about["n_background"],
        "n_background": near,
        **{name: details[name].take(pa.array(hit)) for name in details.column_names},
    }
    arrays = [pa.array(columns[f.name], f.type) if isinstance(columns[f.name], np.ndarray)
              else columns[f.name] for f in schema.HITS]  # fmt: skip
    return pa.table(arrays, schema=schema.HITS)


def _details(index: RunIndex, run: np.ndarray, row: np.ndarray) -> pa.Table:
    """Return samples, metadata and labels of receptors, in their order; each part of a run is read once."""
    keys = run * 2**32 + row
    wanted, place = np.unique(keys, return_inverse=True)
    parts = [
        (index.runs()[run_number], part, np.array([key % 2**32 for key in group]))
        for (run_number, part), group in groupby(
            wanted.tolist(), lambda key: (key >> 32, key % 2**32 // PART)
        )
    ]
    read = list(in_threads(lambda one: _details_of_part(*one), parts, index.threads))
    empty = _details_table(schema.INDEXED_RECEPTORS.empty_table(), [])
    return pa.concat_tables([empty, *read]).take(pa.array(place))


def _details_of_part(run: Run, part: int, rows: np.ndarray) -> pa.Table:
    """Return samples, metadata and labels of some receptors of a part of a run; ``rows`` ascend."""
    receptors, cells = (
        tables.read(folders.checked(run.folder, run.about, f"{kind}/{part:04d}.parquet", run.fix))
        for kind in ("receptors", "cells")
    )
    chosen = receptors.take(pa.array(rows - part * PART))
    mine = cells.filter(pc.is_in(cells["receptor_row"], pa.array(rows))).to_pylist()
    cells_of_row = {row: list(group) for row, group in groupby(mine, lambda cell: cell["receptor_row"])}
    return _details_table(chosen, [_known(cells_of_row.get(row, []), run) for row in rows.tolist()])


def _known(cells: list[dict], run: Run) -> dict:
    """Return samples, metadata and labels of a receptor as text."""
    samples = list(dict.fromkeys(cell["sample_id"] for cell in cells))
    metadata = [run.about["samples"].get(sample, {}) for sample in samples]
    fields = dict.fromkeys(name for one in metadata for name in one)
    said = {name: _joined((one.get(name) for one in metadata), "|") for name in fields}
    return {
        "samples": BETWEEN.join(samples) or None,
        "n_cells": sum(cell["n_cells"] for cell in cells),
        "metadata": BETWEEN.join(f"{name}={value}" for name, value in said.items() if value) or None,
        "run": run.about["results"],
        **{name: _joined((cell[name] for cell in cells), BETWEEN) for name in LABELS},
    }


def _joined(values: Iterable[str | None], between: str) -> str | None:
    return between.join(dict.fromkeys(filter(None, values))) or None


def _details_table(receptors: pa.Table, known: list[dict]) -> pa.Table:
    """Return receptors with their names, samples, metadata and labels."""
    fields = [schema.HITS.field(name) for name in ("samples", "n_cells", "metadata", "run", *LABELS)]
    table = receptors.append_column("receptor", chains.receptor_names(receptors))
    for column in fields:
        table = table.append_column(column, [pa.array([one[column.name] for one in known], column.type)])
    return table.select([name for name in table.column_names if name in schema.HITS.names])


def _unanswered(queries: Queries, reasons: np.ndarray) -> pa.Table:
    """Return `airrvec.core.schema.UNANSWERED` of the queries with a reason why nothing was found."""
    cells = [number for number, row in enumerate(queries.receptor.tolist()) if reasons[row] is not None]
    columns = {
        "query": [queries.names[cell] for cell in cells],
        "query_row": queries.rows[cells],
        "field": [None] * len(cells),
        "value": chains.receptor_names(queries.receptors).take(pa.array(queries.receptor[cells])),
        "reason": [reasons[queries.receptor[cell]] for cell in cells],
        "answered": [False] * len(cells),
    }
    return pa.table(columns, schema=schema.UNANSWERED)


# --- An index that is searched: a given one, or one of a run's results, made for the moment

TEMPORARY = {"n_cells": 1, "n_background": 20_000}  # index of results that no index holds


@contextmanager
def opened(
    place: Path, queries: Queries, search: Search, *, model: str | None, threads: int, warn: Callable
) -> Iterator[run_index.RunIndex]:
    """
    Yield the index to search.

    Parameters
    ----------
    place : Path
        An index, or the results of a run.
    queries, search
        Options of the search: of results, only the classes of chains that are searched are indexed.
    model : str, optional
        Folder of the model, where the results do not hold it.
    threads : int
    warn : callable
        Called with a sentence on each run of the index that has changed since.
    """
    if run_index.is_index(place) or not (place / "embeddings").is_dir():
        index = run_index.open_index(place, threads=threads)
        for run in index.runs():
            now = run_index.manifest_digest(Path(run.about["results"]))
            if now not in (None, run.about["manifest"]):
                path, again = run.about["results"], f"airrvec index --index {place}"
                warn(f"{path} has changed since; index it again: {again} {path}")
        yield index
        return
    with tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
        results = indexing.open_results(place, finished=False)
        run_model = indexing.model_of(results, model)
        index = run_index.create_index(Path(folder) / "index", run_model, threads=threads, **TEMPORARY)
        indexing.add_run(index, results, classes_searched(queries.receptors, search, index))
        yield index


# --- Results, for the terminal and as files

WIDEST = 72  # characters of a column on the terminal
REASONS = 5  # of queries without an answer


def write(answers: Answers, out: Path) -> None:
    """Write all columns to a file, and the problems to a second file."""
    table_parts.write_as_named(answers.hits, out)
    table_parts.write_as_named(answers.problems, rejects_path(out))


def written_line(answers: Answers, out: Path) -> str:
    """Return a sentence on what `write` has written."""
    n = len(answers.hits["query_row"].unique())
    return f"{out}: {counted(len(answers.hits), 'neighbour')} of {counted(n, 'query', 'queries')}"


def problem_lines(problems: pa.Table, out: Path | None) -> Iterator[str]:
    """Yield the first `REASONS` of queries without an answer, and of chains that could not be read."""
    for row in problems.slice(0, REASONS).to_pylist():
        row_note = f", row {row['query_row']}" if row["query"] != f"row {row['query_row']}" else ""
        value = f" ({row['field'] or 'query'} '{row['value']}')" if row["value"] else ""
        yield f"MISSING: {row['query']}{row_note}: {row['reason']}{value}"
    if len(problems) > REASONS:
        all_of_them = rejects_path(out) if out else "--out FILE writes them beside it"
        yield f"MISSING: {len(problems) - REASONS} more ({all_of_them})"


def shown(answers: Answers) -> Iterator[str]:
    """Yield the lines of the terminal: a table for each query."""
    rows = answers.hits.to_pylist()
    starts = [number for number, row in enumerate(rows) if row["rank"] == 1]
    for begin, end in pairwise([*starts, len(rows)]):
        first = rows[begin]
        n = answers.n_searched[f"{first['species']}.{first['chains']}"]
        label = f"{first['query']}: " if len(starts) > 1 else ""
        compared = chain_words.CHAIN_TITLES[first["chains"]]
        yield f"{label}{first['query_receptor']} ({counted(n, 'receptor')} searched, {compared})"
        table = [_cells(row, n / answers.n_background) for row in rows[begin:end]]
        kept = [name for name in table[0] if any(row[name] for row in table)]
        if answers.n_runs == 1:
            kept.remove("run")
        lines = [kept, *([_cut(row[name]) for name in kept] for row in table)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            numbers = [cell.rjust(width) for cell, width in zip(line[:3], widths, strict=False)]
            words = [cell.ljust(width) for cell, width in zip(line[3:], widths[3:], strict=True)]
            yield "  ".join([*numbers, *words]).rstrip()
        yield ""


def _cells(row: dict, step: float) -> dict[str, str]:
    epitope = row["epitope"] or (f"{row['call_epitope']} (called)" if row["call_epitope"] else "")
    species = row["antigen_species"] or row["call_antigen_species"]
    return {
        "rank": str(row["rank"]),
        "distance": f"{row['distance']:.3f}",
        "by chance": f"{_number(row['n_expected'])}" if row["n_background"] else f"< {_number(step)}",
        "receptor": row["receptor"],
        "epitope": f"{epitope} ({species})" if species else epitope,
        "samples": row["samples"] or "",
        "metadata": row["metadata"] or "",
        "run": row["run"],
    }


def _number(value: float) -> str:
    """Return a number with two digits, without an exponent where it is large."""
    return f"{value:.2g}" if value < 10 else f"{value:,.0f}"


def _cut(cell: str) -> str:
    cell = printable(cell)
    return cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 1]}…"
