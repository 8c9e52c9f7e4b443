"""Function for notebooks: ``airrvec.find``."""

import warnings
from collections import Counter
from pathlib import Path
from typing import Literal

from airrvec.app import api, frames, memory
from airrvec.app.finding import Search, opened
from airrvec.app.finding import find as find_queries
from airrvec.app.places import default_index
from airrvec.app.queries import from_normalised, read_queries
from airrvec.core import schema
from airrvec.core.errors import require_choice
from airrvec.core.runtime import chosen_threads

import numpy as np
import pandas as pd

Chains = Literal["paired", "alpha", "beta"]


def find(
    queries: str | Path | memory.Frame | memory.Cells,
    index: str | Path | None = None,
    *,
    k: int = 10,
    radius: float | None = None,
    chains: Chains | None = None,
    exact: bool = False,
    format: str | None = None,
    column_map: api.ColumnMap | None = None,
    species: api.Species = "homosapiens",
    model: str | Path | None = None,
    threads: int | None = None,
) -> pd.DataFrame:
    """
    Return the nearest receptors of all runs of an index, as ``airrvec find`` does.

    Parameters
    ----------
    queries : str, Path, DataFrame, pyarrow.Table, polars.DataFrame, AnnData or MuData
        A receptor in words, such as ``"TRBV19 CASSIRSSYEQYF"``; a file in any format; or receptors as `embed`
        takes them, such as those of `read`.
    index : str or Path, optional
        Index, or folder of results of a run. By default the environment variable ``AIRRVEC_INDEX``, or
        ``airrvec_index`` in this folder.
    k : int
        Neighbours of each query.
    radius : float, optional
        All receptors within this distance instead.
    chains : {"paired", "alpha", "beta"}, optional
        Chains to compare; by default those of a query.
    exact : bool
        Compare with all receptors.
    format, column_map
        Of a file, as for `read`.
    species : {"homosapiens", "musmusculus"}
        Species of words, and of rows of a file, that name none.
    model : str or Path, optional
        Folder of the model, where the results do not hold it.
    threads : int, optional
        Number of threads; by default one per processor.

    Returns
    -------
    DataFrame
        `airrvec.core.schema.HITS`, in the types of `airrvec.app.frames`: by query, then by rank. ``query``
        is the index label of a DataFrame's row. ``attrs["problems"]``, a list of dict: queries without an
        answer, and chains that could not be read, with the reason.

    Warns
    -----
    UserWarning
        If queries have no answer, with the main reasons; if a run has changed since it was indexed.

    Raises
    ------
    InputError
        If no query can be read, or the index is missing or damaged; if ``k`` or ``threads`` is less than 1,
        or ``radius`` less than 0; if ``species`` or ``chains`` is none of these.

    Examples
    --------
    The folder ``results`` of a run:

    >>> import airrvec
    >>> hits = airrvec.find("TRBV19 CASSIRSSYEQYF", "results", k=3)  # doctest: +SKIP
    >>> hits[["rank", "receptor", "distance", "samples"]]  # doctest: +SKIP
    """
    search = Search(k, radius, chains, exact)
    n_threads = chosen_threads(threads)
    require_choice("species", species, schema.SPECIES)
    labels: pd.Index | None = None
    if not isinstance(queries, str | Path):
        (part,) = memory.parts_of(queries, "queries")
        parsed, labels = from_normalised(api.standardised(part)), part.frame.index
    else:
        parsed = read_queries(str(queries), species=species, format=format, column_map=column_map)
    model_source = None if model is None else str(model)
    place = default_index() if index is None else Path(index)
    said: list[str] = []
    with opened(place, parsed, search, model=model_source, threads=n_threads, warn=said.append) as open_index:
        answers = find_queries(open_index, parsed, search)
    table = frames.from_table(answers.hits)
    problems = answers.problems.to_pylist()
    if labels is not None:
        table["query"] = labels[table["query_row"] - 1]
        for problem in problems:
            problem["query"] = _as_json(labels[problem["query_row"] - 1])
    reasons = Counter(problem["reason"] for problem in problems if not problem["answered"]).most_common()
    if reasons:
        words = "; ".join(f"{n} × {reason}" for reason, n in reasons)
        said.append(f"queries without an answer: {words}")
    for sentence in said:
        warnings.warn(sentence, stacklevel=2)
    table.attrs["problems"] = problems
    return table


def _as_json(label: object) -> object:
    """Return an index label, as text if Parquet, whose metadata are JSON, cannot hold it in ``attrs``."""
    label = label.item() if isinstance(label, np.generic) else label
    return label if isinstance(label, str | int | float) else str(label)
