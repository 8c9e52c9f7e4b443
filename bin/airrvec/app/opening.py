"""An index that is searched: a given one, or one of a run's results, made for the moment."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from airrvec.app import indexing, run_index, run_states
from airrvec.app.finding import Search, classes_searched
from airrvec.app.queries import Queries

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
        What is looked for: of results, only the classes of chains that are searched are indexed.
    model : str, optional
        Folder of the model, where the results do not hold it.
    threads : int
    warn : callable
        Called with a sentence on each run of the index that has changed since.
    """
    if run_index.is_index(place) or not (place / "embeddings").is_dir():
        index = run_index.open_index(place, threads=threads)
        for run in index.runs():
            now = run_states.manifest_digest(Path(run.about["results"]))
            if now not in (None, run.about["manifest"]):
                path, again = run.about["results"], f"airrvec index --index {place}"
                warn(f"{path} has changed since; index it again: {again} {path}")
        yield index
        return
    with tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
        results = indexing.open_results(place, finished=False)
        of_run = indexing.model_of(results, model)
        index = run_index.create_index(Path(folder) / "index", of_run, threads=threads, **TEMPORARY)
        indexing.add_run(index, results, classes_searched(queries.receptors, search, index))
        yield index
