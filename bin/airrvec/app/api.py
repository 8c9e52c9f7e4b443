"""Functions for notebooks: ``airrvec.read``, ``airrvec.embed`` and ``airrvec.nearest``."""

import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from airrvec.app import frames
from airrvec.core import schema
from airrvec.core.errors import InputError, require_at_least_one
from airrvec.core.vectors import ATTRIBUTE
from airrvec.encoders.sceptr import Sceptr
from airrvec.input import cells as cell_tables
from airrvec.input import reading
from airrvec.input.formats import sceptr
from airrvec.input.normalise import Normalised, normalise
from airrvec.input.values import MISSING
from airrvec.search import neighbours

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Species = Literal["homosapiens", "musmusculus"]
Device = Literal["cpu", "auto", "gpu"]
# Field of airrvec → column of the table; "only" → the rows to read.
ColumnMap = Mapping[str, str | dict[str, Any]]

# Column of airrvec → column of a table in the format `sceptr`.
_PLAIN = {
    schema.field(locus, name): f"{prefix}{locus[-1]}" if name == "junction_aa" else f"{locus}{segment}"
    for locus in schema.LOCI
    for name, prefix, segment in (("v_call", "", "V"), ("j_call", "", "J"), ("junction_aa", "CDR3", ""))
}


def read(
    path: str | Path,
    *,
    format: str | None = None,
    column_map: ColumnMap | None = None,
    species: Species = "homosapiens",
) -> pd.DataFrame:
    """
    Read and standardise a table of receptors, as in the pipeline.

    Parameters
    ----------
    path : str or Path
        File in any format of docs/reference/input.md.
    format : str, optional
        Name in `airrvec.input.reading.FORMATS`; detected from the columns if not given.
    column_map : dict, optional
        Column map, instead of a format.
    species : {"homosapiens", "musmusculus"}
        Species of rows that name none.

    Returns
    -------
    DataFrame
        One row per cell or clonotype, with the columns of ``cells`` and ``receptors``, in the types of
        `airrvec.app.frames`. ``attrs["counts"]`` holds the numbers of rows read and rejected.

    Warns
    -----
    UserWarning
        If rows were rejected, with the main reasons.

    Raises
    ------
    InputError
        If the file is in no known format, all its rows are rejected, or there is no such species.

    Examples
    --------
    >>> import airrvec
    >>> table = pd.DataFrame({"TRAV": ["TRAV27"], "CDR3A": ["CAGAGSQGNLIF"], "TRAJ": ["TRAJ42"],
    ...                       "TRBV": ["TRBV19"], "CDR3B": ["CASSIRSSYEQYF"], "TRBJ": ["TRBJ2-7"]})
    >>> table.to_csv("receptors.tsv", sep="\\t", index=False)
    >>> airrvec.read("receptors.tsv")[["trb_v_call", "trb_junction_aa", "chain_pairing"]]
      trb_v_call trb_junction_aa chain_pairing
    0     TRBV19   CASSIRSSYEQYF   single pair
    """
    source = reading.open_chains(path, format, column_map)
    result = normalise(source, sample_id=Path(path).name.split(".")[0], species=species)
    for sentence in result.counts["warnings"]:
        warnings.warn(sentence, stacklevel=2)
    receptors = result.receptors.take(_rows(result))
    frame = frames.from_table(cell_tables.join_receptors(result.cells, receptors))
    frame.attrs["counts"] = result.counts
    return frame


def embed(
    receptors: pd.DataFrame | pa.Table, *, model: str | Path = "sceptr", device: Device = "cpu"
) -> pd.DataFrame:
    """
    Return the vector of each receptor, row by row.

    Parameters
    ----------
    receptors : DataFrame or pyarrow.Table
        Some of ``tra_v_call``, ``tra_junction_aa``, ``trb_v_call`` and ``trb_junction_aa``, and ``species``
        where it is not human; gene names are standardised.
    model : str or Path
        Published variant, or folder of a model.
    device : {"cpu", "auto", "gpu"}
        Device that runs the model; ``auto`` is a GPU if there is one.

    Returns
    -------
    DataFrame
        With the index of ``receptors``. ``dim_01``, ``dim_02``, …: float32, l2-normalised, NaN for a row that
        was rejected or has no loop that the model uses. ``chains``: the chains in the vector, paired, alpha
        or beta; missing without a vector. ``attrs["airrvec"]`` holds ``model``, ``weights_sha256`` and
        ``dimensions``, by which `nearest` tells models apart; ``attrs["counts"]`` holds ``rows``,
        ``without_vector`` and ``chain_lost``: rows with a vector of one chain, because the other chain was
        rejected.

    Warns
    -----
    UserWarning
        If rows have no vector, or a vector of only one of two given chains.

    Raises
    ------
    InputError
        If there is no junction column, no row holds a receptor, there is no such model or device, or no GPU
        where one is requested.

    Examples
    --------
    >>> import airrvec
    >>> receptors = pd.DataFrame({"trb_v_call": ["TRBV19", "TRBV20-1"],
    ...                           "trb_junction_aa": ["CASSIRSSYEQYF", "CSARDGTGNGYTF"]})
    >>> vectors = airrvec.embed(receptors)
    >>> vectors.shape  # 64 dimensions and the chains
    (2, 65)
    """
    frame = receptors.to_pandas() if isinstance(receptors, pa.Table) else receptors
    encoder = Sceptr(str(model), device=device)
    result = standardised(frame)
    receptor_vectors = encoder.embed(result.receptors)
    vectors = np.full((len(frame), receptor_vectors.shape[1]), np.nan, np.float32)
    kept = result.cells["cell_id"].cast(pa.int64()).to_numpy()
    rows = _rows(result).to_numpy()
    vectors[kept] = receptor_vectors[rows]
    has_vector = ~np.isnan(vectors[:, 0])
    present = np.zeros((len(frame), 2), bool)  # α, β
    present[kept] = _present(result.receptors)[rows]
    lost = has_vector & (_has_chain(frame) & ~present).any(axis=1)
    for n, loss, among in (
        (int((~has_vector).sum()), "no vector", ~has_vector),
        (int(lost.sum()), "a vector of only one chain, because the other was rejected", lost),
    ):
        if n:
            reasons = _reasons(result.rejects, among)
            warnings.warn(f"{n} of {len(frame)} rows have {loss}{reasons}", stacklevel=2)
    used = [any(loop.endswith(letter) for loop in encoder.loaded.config.loops) for letter in "ab"]
    table = pd.DataFrame(vectors, frame.index, schema.dimensions(vectors.shape[1]))
    words = _chain_words(present & has_vector[:, None] & used)
    table["chains"] = frames.column(pd.Series(words, frame.index))
    table.attrs[ATTRIBUTE] = encoder.loaded.vector_model.described()
    table.attrs["counts"] = {
        "rows": len(frame),
        "without_vector": int((~has_vector).sum()),
        "chain_lost": int(lost.sum()),
    }
    return table


def nearest(
    queries: pd.DataFrame, references: pd.DataFrame, k: int = 10, *, threads: int = 1
) -> pd.DataFrame:
    """
    Return the nearest references of each query, by exact search.

    Parameters
    ----------
    queries, references : DataFrame
        Vectors of one model, as returned by `embed` or read from ``embeddings/`` of a run: the columns
        ``dim_01``, ``dim_02``, …, or all but ``chains`` if there are no such. Other columns may stand beside
        them.
    k : int
        Number of references per query.
    threads : int
        Number of threads.

    Returns
    -------
    DataFrame
        ``query`` and ``reference`` (index labels), ``rank`` from 1, ``distance`` (Euclidean, 0 to
        2); rows without a vector are excluded.

    Warns
    -----
    UserWarning
        If queries or references have lost the name of their model, ``attrs["airrvec"]``, as in ``merge`` and
        ``concat`` of pandas: they are compared if they have the same width.

    Raises
    ------
    InputError
        If they are vectors of different models or widths, a column holds no numbers, or ``k`` or ``threads``
        is less than 1.

    Examples
    --------
    >>> import airrvec
    >>> vectors = pd.DataFrame({"dim_01": [1.0, 0.0, 0.6], "dim_02": [0.0, 1.0, 0.8]}, index=["a", "b", "c"])
    >>> airrvec.nearest(vectors, vectors, k=2).query("rank == 2").round(3)
      query reference  rank  distance
    1     a         c     2     0.894
    3     b         c     2     0.632
    5     c         b     2     0.632
    """
    for name, number in (("k", k), ("threads", threads)):
        require_at_least_one(name, number)
    query_vectors, known = frames.read(queries, "queries"), frames.read(references, "references")
    if queries is not references:
        frames.check_comparable(query_vectors, known)
    k = min(k, max(len(references), 1))
    distances, rows = neighbours.nearest(query_vectors.matrix, known.matrix, k, threads=threads)
    is_hit = rows.ravel() >= 0
    return pd.DataFrame(
        {
            "query": queries.index.repeat(k)[is_hit],
            "reference": references.index[rows.ravel()[is_hit]],
            "rank": np.tile(np.arange(1, k + 1), len(queries))[is_hit],
            "distance": distances.ravel()[is_hit],
        }
    )


def _present(receptors: pa.Table) -> NDArray[np.bool_]:
    """Return whether receptors have an α and a β chain, shape (n, 2)."""
    junctions = [receptors[schema.field(locus, "junction_aa")] for locus in schema.LOCI]
    return np.stack([pc.is_valid(column).to_numpy() for column in junctions], axis=1)


def _has_chain(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Return whether rows have any value for an α and for a β chain, shape (n, 2)."""
    has_value = []
    for locus in schema.LOCI:
        names = [name for name in _PLAIN if name.startswith(locus.lower()) and name in frame]
        words = frame[names].astype(object)
        has_value.append((words.notna() & ~words.isin(MISSING)).any(axis=1).to_numpy())
    return np.stack(has_value, axis=1)


def _chain_words(used: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return the chains in each vector as a word; None for no chain."""
    words = np.array([None, "beta", "alpha", "paired"], object)
    return words.take(used @ [2, 1])


def _reasons(rejects: pa.Table, among: NDArray[np.bool_]) -> str:
    """Return the reasons why chains of some rows were rejected, most frequent first, in brackets."""
    chosen = rejects.filter(pa.array(among[rejects["row"].to_numpy() - 1]))
    counts = Counter(chosen["reason"].to_pylist()).most_common()
    return f" ({'; '.join(f'{n} × {reason}' for reason, n in counts)})" if counts else ""


def standardised(frame: pd.DataFrame) -> Normalised:
    """Return the receptors of a wide table; ``cell_id`` is the row number."""
    present = {name: plain for name, plain in _PLAIN.items() if name in frame}
    if not any(name.endswith("junction_aa") for name in present):
        raise InputError(
            "the table has no column tra_junction_aa or trb_junction_aa",
            fix="Read files with airrvec.read, or rename the columns",
        )
    if not len(frame):
        raise InputError("the table has no rows")
    columns = [*present, *(["species"] if "species" in frame else [])]
    words = frame[columns].astype(object)
    table = pa.table(
        {present.get(name, name): pa.array(words[name], pa.string(), from_pandas=True) for name in columns}
    )
    numbers = pa.array(range(len(frame)), pa.int64())
    table = table.append_column("row", pc.add(numbers, 1)).append_column("cell_id", numbers.cast(pa.string()))
    chains = reading.chains_of(sceptr, _complete(table))
    batch = reading.Batch(chains, 1, len(frame), [])
    return normalise(reading.Source("table", [], iter([batch])), sample_id="table", species="homosapiens")


def _complete(table: pa.Table) -> pa.Table:
    for name in (*sceptr.LAYOUTS[0], *sceptr.OPTIONAL):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), pa.string()))
    return table


def _rows(result: Normalised) -> pa.Array:
    """Return the row in ``receptors`` of each cell's receptor."""
    ids = result.receptors["receptor_id"].combine_chunks()
    return pc.index_in(result.cells["receptor_id"].combine_chunks(), ids)
