"""The map of a run: its receptors, and their two-dimensional layout by UMAP."""

from collections.abc import Iterator
from pathlib import Path

from airrvec.core import pages, schema, tables
from airrvec.core.compiled import compiled
from airrvec.core.progress import step
from airrvec.core.runtime import one_blas_thread
from airrvec.core.seeds import numbered_generator
from airrvec.core.vectors import batches, n_dimensions
from airrvec.repertoire import clone_table
from airrvec.search.neighbours import nearest
from airrvec.stats.components import signs

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp


def count_vectors(embeddings: Path) -> tuple[int, int]:
    """Return the number of receptors with a vector, and without one."""
    counts = [
        (len(batch), batch.column(0).null_count)
        for path in tables.files(embeddings)
        for batch in _first_components(path)
    ]
    n, without = (sum(count) for count in zip(*counts, strict=True)) if counts else (0, 0)
    return n - without, without


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """
    Return at most ``most`` of the numbers below n, evenly spaced, ascending.

    As row numbers in the order of ``receptor_id``, a hash, they are a random sample, the same in every run.
    """
    return np.arange(n) if n <= most else np.arange(most, dtype=np.int64) * n // most


def part_within(wanted: np.ndarray, first: int, n: int) -> slice:
    """Return which of some row numbers, ascending, are among the n rows from ``first``."""
    return slice(*np.searchsorted(wanted, [first, first + n]))


def portions(embeddings: Path) -> Iterator[tuple[pa.Array, np.ndarray]]:
    """
    Yield the receptors that have a vector, batch by batch in their order.

    Yields
    ------
    receptor_id : pyarrow.Array
        Ids of n receptors.
    vectors : ndarray of float32, shape (n, d)
    """
    for ids, vectors in batches(embeddings):
        has_vector = ~np.isnan(vectors[:, 0])
        yield ids.filter(pa.array(has_vector)), vectors[has_vector]


def read_vectors(embeddings: Path, wanted: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return ids and vectors of some receptors: ascending row numbers among those that have a vector."""
    ids, vectors, first = [], [np.empty((0, n_dimensions(embeddings)), np.float32)], 0
    for batch_ids, batch_vectors in portions(embeddings):
        rows = wanted[part_within(wanted, first, len(batch_ids))] - first
        ids += batch_ids.take(pa.array(rows)).to_pylist()
        vectors.append(batch_vectors[rows])
        first += len(batch_ids)
    return ids, np.concatenate(vectors)


def read_points(places: Path) -> tuple[int, pd.DataFrame]:
    """Return the number of receptors of a map, and the rows of `airrvec.core.schema.MAP` that are points."""
    n = tables.n_rows(places)
    wanted, parts, first = evenly_spaced(n, MAX_MAPPED), [schema.MAP.empty_table()], 0
    for part in tables.read_batches(places, tables.BATCH):
        rows = wanted[part_within(wanted, first, len(part))] - first
        parts.append(part.take(pa.array(rows)))
        first += len(part)
    return n, pa.concat_tables(parts).cast(schema.MAP).to_pandas()


def read_cells(paths: list[Path], clonotype_ids: list[str]) -> pd.DataFrame:
    """Return sample, receptor and clonotype id, ``epitope`` and metadata of the cells of some clonotypes."""
    frames = []
    for path in paths:
        names = [name for name in tables.arrow_schema(path).names if name not in schema.CELLS.names]
        columns = ["sample_id", "receptor_id", "clonotype_id", "epitope", *names]
        cells = tables.read_filtered(path, tables.is_one_of("clonotype_id", clonotype_ids), columns)
        frames.append(cells.to_pandas())
    return pd.concat(frames, ignore_index=True)


SEVERAL_UNITS = "several units"


def abundances(paths: list[Path], clones: Path | None, receptor_ids: list[str]) -> pd.DataFrame:
    """
    Return what counts with each receptor in all samples together, and its unit.

    Parameters
    ----------
    paths : list of Path
        Tables of cells.
    clones : Path, optional
        Folder written by ``count_clones.py``: a cell with one chain that joined a clone counts with the
        clone's receptor. Without it, with its own.
    receptor_ids : list of str, length n

    Returns
    -------
    DataFrame, length n
        ``n``: 0 if all cells of the receptor count with another one; null if they have no count, or count in
        several units. ``unit``: null if ``n`` is 0 or not known; `SEVERAL_UNITS`.
    """
    columns, parts = ("receptor_id", "n", "unit"), []
    for path in paths:
        cells = tables.read(path, ["sample_id", "receptor_id", "abundance", "count_unit"])
        if not len(cells):
            continue
        own = ids = cells["receptor_id"]
        if clones:
            ids = clone_table.receptors_counted(clones, cells["sample_id"][0].as_py(), own)
        n, unit = cells["abundance"], cells["count_unit"]
        counted = pa.table([ids, n, unit], columns).filter(pc.is_valid(n))
        # Adds nothing, but tells a receptor whose cells count with another one from one without a count.
        has_count = pa.table([own, pc.multiply(n, 0), pa.nulls(len(own), unit.type)], columns)
        parts += [counted, has_count.filter(pc.is_valid(n))]
    rows = pa.concat_tables(parts)
    rows = rows.filter(pc.is_in(rows["receptor_id"], pa.array(receptor_ids))).to_pandas()
    groups = rows.groupby("receptor_id")
    table = groups.agg(n=("n", "sum"), unit=("unit", "first"), n_units=("unit", "nunique"))
    table = table.reindex(receptor_ids)
    several = table["n_units"] > 1
    return pd.DataFrame(
        {"n": table["n"].mask(several), "unit": table["unit"].mask(several, SEVERAL_UNITS)}, receptor_ids
    )


def read_receptors(path: Path, receptor_ids: list[str], columns: list[str] | None = None) -> pd.DataFrame:
    """Return the rows of some receptors; other rows are skipped without being held in memory."""
    return tables.read_filtered(path, tables.is_one_of("receptor_id", receptor_ids), columns).to_pandas()


def read_calls(paths: list[Path], columns: list[str]) -> pd.DataFrame | None:
    """Return some columns of the called receptors of all samples; None without annotation."""
    if not paths:
        return None
    is_called = pc.field("call") == schema.HAS_CALL
    return pd.concat([tables.read_filtered(path, is_called, columns).to_pandas() for path in paths])


def _first_components(path: str) -> Iterator[pa.RecordBatch]:
    with tables.parquet_file(path) as parquet:
        yield from pages.batches(parquet, path, tables.BATCH, ["dim_01"])


# --- Layout of vectors, by UMAP (McInnes, Healy and Melville 2018, arXiv:1802.03426)

N_NEIGHBOURS = 15  # includes the receptor itself, as in umap-learn
# 1 / (1 + a d^(2b)) approximates 1 up to a distance of 0.1, and exp(0.1 - d) beyond.
A, B = 1.576943, 0.895061
N_NEGATIVE = 5
MAX_MAPPED = 50_000
MIN_FOR_UMAP = 50


@step("places on the map")
def plane(vectors: np.ndarray, *, seed: int, threads: int = 1) -> tuple[np.ndarray, str]:
    """
    Return a two-dimensional position for each vector.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        Finite; at most `MAX_MAPPED`.
    seed : int
        Seed of the random choices.
    threads : int
        Threads of the neighbour search.

    Returns
    -------
    places : ndarray of float32, shape (n, 2)
    method : {"umap", "pca"}
        PCA for fewer than `MIN_FOR_UMAP` vectors.
    """
    if len(vectors) < MIN_FOR_UMAP:
        return pca(vectors), "pca"
    return umap(vectors, seed=seed, threads=threads), "umap"


@step("places of all other receptors")
def place_on_map(
    vectors: np.ndarray, mapped: np.ndarray, places: np.ndarray, *, threads: int = 1
) -> np.ndarray:
    """
    Return positions of further vectors: means of their three nearest mapped vectors, by inverse distance.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        Finite.
    mapped, places : ndarray of float32, shape (m, d) and (m, 2)
        Vectors that define the map, and their positions.

    Returns
    -------
    ndarray of float32, shape (n, 2)
        Within the bounds of ``places``.
    """
    distances, rows = nearest(vectors, mapped, 3, threads=threads)
    weights = 1 / (distances + 1e-6)
    means = (places[rows] * weights[:, :, None]).sum(axis=1) / weights.sum(axis=1, keepdims=True)
    return means.astype(np.float32)


def pca(vectors: np.ndarray) -> np.ndarray:
    """Return the first two principal components, shape (n, 2); missing components are 0."""
    centred = vectors - vectors.mean(axis=0) if len(vectors) else vectors
    places = np.zeros((len(vectors), 2), np.float32)
    with one_blas_thread():
        axes = np.linalg.svd(centred.T @ centred)[2][:2]
        axes = axes * signs(axes)[:, None]
        places[:, : len(axes)] = centred @ axes.T
    return places


def umap(vectors: np.ndarray, *, seed: int, threads: int = 1) -> np.ndarray:
    """
    Return UMAP positions with umap-learn's default settings, initialised with principal components.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        Finite; n is larger than `N_NEIGHBOURS`.

    Returns
    -------
    ndarray of float32, shape (n, 2)
    """
    distances, rows = nearest(vectors, vectors, N_NEIGHBOURS, threads=threads)
    graph = fuzzy_graph(distances, rows).tocoo()
    n_epochs = 500 if len(vectors) <= 10_000 else 200
    kept = graph.data >= graph.data.max() / n_epochs
    period = graph.data.max() / graph.data[kept]  # epochs between two updates of an edge
    start = pca(vectors)
    rng = numbered_generator(seed)
    places = 10 * start / (np.abs(start).max() or 1) + rng.normal(scale=1e-4, size=start.shape)
    places = places.astype(np.float32)
    _descend(places, graph.row[kept], graph.col[kept], period, n_epochs, seed)
    return places


def fuzzy_graph(distances: np.ndarray, rows: np.ndarray) -> sp.csr_matrix:
    """
    Return the membership strengths of pairs of vectors as neighbours (section 3.1 of the paper).

    Parameters
    ----------
    distances : ndarray of float32, shape (n, k)
        Distances to the k nearest vectors, ascending; the first is the vector itself.
    rows : ndarray of int64, shape (n, k)
        Row numbers of these vectors.

    Returns
    -------
    scipy.sparse.csr_matrix, shape (n, n)
        Symmetric; memberships from 0 to 1.
    """
    n, k = distances.shape
    nonzero = np.where(distances > 0, distances, np.inf).min(axis=1)
    rho = np.where(np.isfinite(nonzero), nonzero, 0)[:, None]
    beyond = np.maximum(distances[:, 1:] - rho, 0).astype(np.float64)
    low, high = np.full((n, 1), 1e-6), np.full((n, 1), 1e3)
    for _ in range(64):
        sigma = np.sqrt(low * high)
        more = np.exp(-beyond / sigma).sum(axis=1, keepdims=True) > np.log2(k)
        low, high = np.where(more, low, sigma), np.where(more, sigma, high)
    sigma = np.maximum(sigma, 1e-3 * distances.mean(axis=1, keepdims=True))
    one_way = sp.csr_matrix(
        (np.exp(-beyond / sigma).ravel(), (np.repeat(np.arange(n), k - 1), rows[:, 1:].ravel())), (n, n)
    )
    both = one_way.multiply(one_way.T)
    return (one_way + one_way.T - both).tocsr()


@compiled
def _descend(places, heads, tails, period, n_epochs, seed):
    """Pull neighbours together, each edge once per ``period``, and push random pairs apart (section 3.2)."""
    np.random.seed(seed)  # noqa: NPY002 (numba's own generator, used only here)
    due = period.copy()
    for epoch in range(n_epochs):
        step = 1 - epoch / n_epochs
        for edge in range(len(heads)):
            if due[edge] > epoch + 1:
                continue
            due[edge] += period[edge]
            i, j = heads[edge], tails[edge]
            square = (places[i, 0] - places[j, 0]) ** 2 + (places[i, 1] - places[j, 1]) ** 2
            if square > 0:
                pull = -2 * A * B * square ** (B - 1) / (1 + A * square**B)
                for axis in range(2):
                    moved = step * min(4.0, max(-4.0, pull * (places[i, axis] - places[j, axis])))
                    places[i, axis] += moved
                    places[j, axis] -= moved
            for _ in range(N_NEGATIVE):
                j = np.random.randint(len(places))  # noqa: NPY002
                square = (places[i, 0] - places[j, 0]) ** 2 + (places[i, 1] - places[j, 1]) ** 2
                if square == 0:
                    continue
                push = 2 * B / ((0.001 + square) * (1 + A * square**B))
                for axis in range(2):
                    places[i, axis] += step * min(4.0, max(-4.0, push * (places[i, axis] - places[j, axis])))
