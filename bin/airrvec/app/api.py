"""Functions for notebooks: ``airrvec.read``, ``airrvec.embed`` and ``airrvec.nearest``."""

import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, overload

from airrvec.app import frames, memory
from airrvec.app.memory import Cells, Frame, Paths, Tables
from airrvec.core import identity, schema
from airrvec.core.errors import InputError, kind, require_at_least_one, require_choice
from airrvec.core.runtime import chosen_threads
from airrvec.core.settings import SETTINGS
from airrvec.core.vectors import ATTRIBUTE
from airrvec.core.version import __version__
from airrvec.encoders.sceptr import Sceptr
from airrvec.input import cells as cell_tables
from airrvec.input import reading
from airrvec.input.formats import sceptr
from airrvec.input.normalise import Normalised, normalise
from airrvec.search import neighbours

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Species: TypeAlias = Literal["homosapiens", "musmusculus"]
Multichain: TypeAlias = Literal["top", "split", "drop"]
Device: TypeAlias = Literal["auto", "cpu", "gpu"]
Precision: TypeAlias = Literal["auto", "fp32", "bf16"]
# Field of airrvec → column of the table; "only" → the rows to read.
ColumnMap: TypeAlias = Mapping[str, str | dict[str, Any]]


def read(
    path: Paths,
    *,
    format: str | None = None,
    column_map: ColumnMap | None = None,
    species: Species = "homosapiens",
    multichain: Multichain = "top",
) -> pd.DataFrame:
    """
    Read and standardise tables of receptors, as in the pipeline.

    Parameters
    ----------
    path : str, Path, or list of these
        File in any format of docs/reference/input.md, several, or one samplesheet.
    format : str, optional
        Name in `airrvec.input.reading.FORMATS`; detected from the columns if not given.
    column_map : dict, optional
        Column map, instead of a format.
    species : {"homosapiens", "musmusculus"}
        Species of rows that name none.
    multichain : {"top", "split", "drop"}
        Cells with more than one α or β chain: their top chains, all pairs, or no row.

    Returns
    -------
    DataFrame
        One row per cell or clonotype, with the columns of ``cells`` and ``receptors``, then ``tra_v_gene``,
        ``tra_j_gene``, ``trb_v_gene`` and ``trb_j_gene``, the calls without alleles, in the types of
        `airrvec.app.frames`. ``attrs["counts"]`` holds the numbers of rows read and rejected, of several
        tables by ``sample_id``.

    Warns
    -----
    UserWarning
        If rows were rejected, with the main reasons.

    Raises
    ------
    InputError
        If a file is in no known format, all its rows are rejected, or there is no such species.

    Examples
    --------
    >>> import airrvec
    >>> table = pd.DataFrame({"TRAV": ["TRAV27"], "CDR3A": ["CAGAGSQGNLIF"], "TRAJ": ["TRAJ42"],
    ...                       "TRBV": ["TRBV19*01"], "CDR3B": ["CASSIRSSYEQYF"], "TRBJ": ["TRBJ2-7"]})
    >>> table.to_csv("receptors.tsv", sep="\\t", index=False)
    >>> airrvec.read("receptors.tsv")[["trb_v_call", "trb_v_gene", "trb_junction_aa", "chain_pairing"]]
      trb_v_call trb_v_gene trb_junction_aa chain_pairing
    0  TRBV19*01     TRBV19   CASSIRSSYEQYF   single pair
    """
    require_choice("multichain", multichain, SETTINGS["multichain"].choices)
    if not memory.are_paths(path):
        fix = "airrvec.embed and the other functions take tables in memory as they are"
        raise InputError(f"path is {kind(path)}, and must be a path or a list of paths", fix=fix)
    results = {}
    for source, settings in _sources(path, format, column_map, species):
        result = normalise(source, multichain=multichain, **settings)
        for sentence in result.counts["warnings"]:
            warnings.warn(sentence, stacklevel=2)
        results[settings["sample_id"]] = result
    parts = [_frame(result) for result in results.values()]
    frame = parts[0] if len(parts) == 1 else frames.savable(pd.concat(parts, ignore_index=True))
    counts = {name: result.counts for name, result in results.items()}
    frame.attrs["counts"] = counts if len(parts) > 1 else next(iter(counts.values()))
    return frame


def _sources(path: Paths, format: str | None, column_map: ColumnMap | None, species: str) -> list[Any]:
    """Return each file, opened, and the settings with which it is normalised."""
    from airrvec.app import verb_files, verb_options
    from airrvec.input.samplesheet.sheet import is_samplesheet

    paths = memory.paths_of(path)
    if len(paths) == 1 and not (paths[0].is_file() and is_samplesheet(paths[0])):
        source = reading.open_chains(paths[0], format, column_map)
        return [(source, {"sample_id": paths[0].name.split(".")[0], "species": species})]
    layout = {"tables": paths, "format": format, "species": species}
    samples = verb_files.samples(verb_options.checked("normalise", layout), check=column_map is None)
    return [
        (
            reading.open_chains(
                str(sample.path),
                sample.format,
                verb_files.columns_of(sample.column_map) or (None if sample.format else column_map),
                unit=sample.unit,
            ),
            {"sample_id": sample.name, "species": sample.species, "metadata": sample.metadata},
        )
        for sample in samples
    ]


def _frame(result: Normalised) -> pd.DataFrame:
    """Return the cells of a table with their receptors, and their genes without alleles."""
    table = cell_tables.join_receptors(result.cells, result.receptors.take(_rows(result)))
    return frames.from_table(identity.with_genes(table))


@overload
def embed(
    receptors: Cells,
    *,
    model: str | Path = "sceptr",
    device: Device = "auto",
    precision: Precision = "auto",
    threads: int | None = None,
    copy: bool = False,
) -> Any: ...
@overload
def embed(
    receptors: Paths | Frame | Mapping[str, Frame | Cells],
    *,
    model: str | Path = "sceptr",
    device: Device = "auto",
    precision: Precision = "auto",
    threads: int | None = None,
    copy: bool = False,
) -> pd.DataFrame: ...
def embed(
    receptors: Tables,
    *,
    model: str | Path = "sceptr",
    device: Device = "auto",
    precision: Precision = "auto",
    threads: int | None = None,
    copy: bool = False,
) -> Any:
    """
    Return the vector of each receptor, row by row; write those of AnnData into it.

    Parameters
    ----------
    receptors : DataFrame, pyarrow.Table, polars.DataFrame, AnnData, MuData, path, list of paths, or dict
        Tables with some of ``tra_v_call``, ``tra_junction_aa``, ``trb_v_call`` and ``trb_junction_aa``, and
        ``species`` where it is not human; gene names are standardised. Files as of `read`. AnnData and MuData
        with the chains of scirpy, ``obsm["airr"]``. A dict holds several tables by name.
    model : str or Path
        Published variant, or folder of a model.
    device : {"auto", "cpu", "gpu"}
        Device that runs the model; ``auto`` is a GPU if there is one.
    precision : {"auto", "fp32", "bf16"}
        Numbers that the model computes with; ``auto`` is fp32.
    threads : int, optional
        Number of threads; by default one per processor.
    copy : bool
        Of AnnData and MuData: write into a copy and return it.

    Returns
    -------
    DataFrame, or None for AnnData and MuData
        With the index of ``receptors``. ``dim_01``, ``dim_02``, …: float32, l2-normalised, NaN for a row that
        was rejected or has no loop that the model uses. ``chains``: the chains in the vector, paired, alpha
        or beta; missing without a vector. ``attrs["airrvec"]`` holds ``model``, ``weights_sha256`` and
        ``dimensions``, by which `nearest` tells models apart; ``attrs["counts"]`` holds ``rows``,
        ``without_vector`` and ``chain_lost``: rows with a vector of one chain, because the other chain was
        rejected. AnnData, and the modality of MuData with chains, get ``obsm["X_<model>"]``, float32, and
        ``uns["airrvec"]``: the same, ``device``, ``precision`` and ``airrvec_version``, and under ``models``
        those of all models whose vectors are there.

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
    encoder = _encoder(model, device, precision, threads)
    data: Any = receptors
    data = data.copy() if copy and hasattr(data, "obsm") else data
    vectors = _embedded(data, encoder)
    cells = memory.cells_of(data)
    if cells is None:
        return vectors
    cells.obsm[f"X_{encoder.loaded.name}"] = vectors.filter(like="dim_").to_numpy(np.float32)
    settings = {"device": encoder.device, "precision": encoder.precision, "airrvec_version": __version__}
    cells.uns[ATTRIBUTE] = _described(cells.uns.get(ATTRIBUTE, {}), {**vectors.attrs[ATTRIBUTE], **settings})
    return data if copy else None


def _described(known: Mapping[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return what ``uns`` says of vectors: the last model's, and each model's under ``models``."""
    models = dict(known.get("models", {}))
    if "model" in known:  # of the pipeline's exports too
        models[known["model"]] = {name: value for name, value in known.items() if name != "models"}
    return {**about, "models": {**models, about["model"]: about}}


def _encoder(model: str | Path, device: str, precision: str, threads: int | None) -> Sceptr:
    n_threads = chosen_threads(threads)
    if not isinstance(model, str | Path):
        raise InputError(f"model is {kind(model)}, and must be a name or the folder of a model")
    return Sceptr(str(model), device=device, precision=precision, threads=n_threads)


def _embedded(data: Any, encoder: Sceptr) -> pd.DataFrame:
    """Return the vectors of tables, row by row."""
    source = read(data) if memory.are_paths(data) else data
    parts = memory.parts_of(source, "receptors")
    tables = []
    for part in parts:  # no comprehension, which is one level more of the stack for warnings
        tables.append(_vectors_of_part(part, encoder))
    names = [part.name for part in parts]
    joined = tables[0] if names == [None] else pd.concat(tables, keys=names)
    counts = [table.attrs["counts"] for table in tables]
    joined.attrs[ATTRIBUTE] = encoder.loaded.vector_model.described()
    joined.attrs["counts"] = {name: sum(count[name] for count in counts) for name in counts[0]}
    return joined


def _vectors_of_part(part: memory.Part, encoder: Sceptr) -> pd.DataFrame:
    frame = part.frame
    result = standardised(part)
    receptor_vectors = encoder.embed(result.receptors)
    vectors = np.full((len(frame), receptor_vectors.shape[1]), np.nan, np.float32)
    kept = result.cells["cell_id"].cast(pa.int64()).to_numpy()
    rows = _rows(result).to_numpy()
    vectors[kept] = receptor_vectors[rows]
    has_vector = ~np.isnan(vectors[:, 0])
    present = np.zeros((len(frame), 2), bool)  # α, β
    present[kept] = _present(result.receptors)[rows]
    lost = has_vector & (memory.has_chains(part) & ~present).any(axis=1)
    for n, loss, among in (
        (int((~has_vector).sum()), "no vector", ~has_vector),
        (int(lost.sum()), "a vector of only one chain, because the other was rejected", lost),
    ):
        if n:
            reasons = _reasons(result.rejects, among)
            warnings.warn(f"{n} of {len(frame)} rows have {loss}{reasons}", stacklevel=4)
    used = [any(loop.endswith(letter) for loop in encoder.loaded.config.loops) for letter in "ab"]
    table = pd.DataFrame(vectors, frame.index, schema.dimensions(vectors.shape[1]))
    words = _chain_words(present & has_vector[:, None] & used)
    table["chains"] = frames.column(pd.Series(words, frame.index))
    counts = {"without_vector": int((~has_vector).sum()), "chain_lost": int(lost.sum())}
    table.attrs["counts"] = {"rows": len(frame), **counts}
    return table


def nearest(
    queries: Tables,
    references: Tables,
    k: int = 10,
    *,
    model: str | Path = "sceptr",
    device: Device = "auto",
    precision: Precision = "auto",
    threads: int | None = None,
) -> pd.DataFrame:
    """
    Return the nearest references of each query, by exact search.

    Parameters
    ----------
    queries, references : DataFrame, AnnData, path, or what else `embed` takes
        Vectors of one model, as returned by `embed` or read from ``embeddings/`` of a run: the columns
        ``dim_01``, ``dim_02``, …, or all but ``chains`` if there are no such. Other columns may stand beside
        them. AnnData with ``obsm["X_<model>"]``. Receptors without vectors are embedded.
    k : int
        Number of references per query.
    model, device, precision
        As of `embed`, for receptors without vectors.
    threads : int, optional
        Number of threads; by default one per processor.

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
    require_at_least_one("k", k)
    n_threads = chosen_threads(threads)
    settings = (model, device, precision, threads)
    is_same = queries is references
    queries = _with_vectors(queries, "queries", settings)
    references = queries if is_same else _with_vectors(references, "references", settings)
    query_vectors, known = frames.read(queries, "queries"), frames.read(references, "references")
    if not is_same:
        frames.check_comparable(query_vectors, known)
    k = min(k, max(len(references), 1))
    distances, rows = neighbours.nearest(query_vectors.matrix, known.matrix, k, threads=n_threads)
    is_hit = rows.ravel() >= 0
    return pd.DataFrame(
        {
            "query": queries.index.repeat(k)[is_hit],
            "reference": references.index[rows.ravel()[is_hit]],
            "rank": np.tile(np.arange(1, k + 1), len(queries))[is_hit],
            "distance": distances.ravel()[is_hit],
        }
    )


def _with_vectors(data: Any, role: str, settings: tuple[Any, ...]) -> pd.DataFrame:
    """Return the vectors of queries or references, which are there or are computed."""
    if isinstance(data, pd.DataFrame):
        has_junctions = any(name.endswith("junction_aa") and name in data for name in memory.PLAIN)
        return _embedded(data, _encoder(*settings)) if has_junctions and "dim_01" not in data else data
    if isinstance(data, np.ndarray | pd.Series | int | float):
        raise InputError(f"the {role} are {kind(data)}, not a DataFrame", fix=frames.FIX)
    cells = _cells_with_vectors(data)
    encoder = _encoder(*settings)
    key = f"X_{encoder.loaded.name}"
    if cells is None or key not in cells.obsm:
        return _embedded(data, encoder)
    matrix = np.asarray(cells.obsm[key], np.float32)
    table = pd.DataFrame(matrix, cells.obs_names, schema.dimensions(matrix.shape[1]))
    about = cells.uns.get(ATTRIBUTE, {})
    about = about.get("models", {}).get(encoder.loaded.name, about)
    if about.get("model") == encoder.loaded.name:
        table.attrs[ATTRIBUTE] = {name: about[name] for name in ("model", "weights_sha256", "dimensions")}
    return table


def _cells_with_vectors(data: Any) -> Any:
    """Return AnnData, whether or not it has chains, or the modality of MuData that has them."""
    return data if hasattr(data, "obsm") and not hasattr(data, "mod") else memory.cells_of(data)


def _present(receptors: pa.Table) -> NDArray[np.bool_]:
    """Return whether receptors have an α and a β chain, shape (n, 2)."""
    junctions = [receptors[schema.field(locus, "junction_aa")] for locus in schema.LOCI]
    return np.stack([pc.is_valid(column).to_numpy() for column in junctions], axis=1)


def _chain_words(used: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Return the chains in each vector as a word; None for no chain."""
    words = np.array([None, "beta", "alpha", "paired"], object)
    return words.take(used @ [2, 1])


def _reasons(rejects: pa.Table, among: NDArray[np.bool_]) -> str:
    """Return the reasons why chains of some rows were rejected, most frequent first, in brackets."""
    chosen = rejects.filter(pa.array(among[rejects["row"].to_numpy() - 1]))
    counts = Counter(chosen["reason"].to_pylist()).most_common()
    return f" ({'; '.join(f'{n} × {reason}' for reason, n in counts)})" if counts else ""


def standardised(part: memory.Part) -> Normalised:
    """Return the receptors of a table in memory; ``cell_id`` is the row number."""
    settings = {"sample_id": part.name or "table", "species": "homosapiens"}
    if part.chains is not None:
        with tempfile.TemporaryDirectory(prefix="airrvec-") as folder:
            path = memory.write(part, np.arange(len(part.frame)), 0, Path(folder, "cells"))
            return normalise(reading.open_chains(path), **settings)
    table = memory.plain_table(part.frame)
    numbers = pa.array(range(len(table)), pa.int64())
    for name in sceptr.OPTIONAL:
        if name not in ("species", *table.column_names):
            table = table.append_column(name, pa.nulls(len(table), pa.string()))
    table = table.drop_columns(
        [name for name in ("duplicate_count", "cell_id") if name in table.column_names]
    )
    table = table.append_column("row", pc.add(numbers, 1)).append_column("cell_id", numbers.cast(pa.string()))
    chains = reading.chains_of(sceptr, table)
    batch = reading.Batch(chains, 1, len(table), [])
    return normalise(reading.Source("table", [], iter([batch])), **settings)


def _rows(result: Normalised) -> pa.Array:
    """Return the row in ``receptors`` of each cell's receptor."""
    ids = result.receptors["receptor_id"].combine_chunks()
    return pc.index_in(result.cells["receptor_id"].combine_chunks(), ids)
