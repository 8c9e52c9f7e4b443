"""What a notebook needs, as ``airrvec.read``, ``airrvec.embed`` and ``airrvec.nearest``."""

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.encoders.sceptr import Sceptr
from airrvec.input import cells as cell_tables
from airrvec.input import reading
from airrvec.input.files.container import NULLS
from airrvec.input.formats import sceptr
from airrvec.input.normalise import Normalised, normalise
from airrvec.search import neighbours

# Our columns → those of the plain table that the format `sceptr` reads.
_PLAIN = {
    schema.field(locus, name): f"{prefix}{locus[-1]}" if name == "junction_aa" else f"{locus}{segment}"
    for locus in schema.LOCI
    for name, prefix, segment in (("v_call", "", "V"), ("j_call", "", "J"), ("junction_aa", "CDR3", ""))
}


def read(
    path: str | Path,
    *,
    format: str | None = None,
    columns: dict[str, str] | None = None,
    species: str = "homosapiens",
) -> pd.DataFrame:
    """
    Standardise a table of receptors, as the pipeline does.

    Parameters
    ----------
    path : str or Path
        Any file that docs/input.md names.
    format : str, optional
        A name in `airrvec.input.reading.FORMATS`; found from the columns if not given.
    columns : dict, optional
        A column map in place of a format.
    species : {"homosapiens", "musmusculus"}
        Of rows that name none.

    Returns
    -------
    DataFrame
        One row a cell or clonotype: the columns of ``cells`` and of ``receptors``. Its ``attrs`` hold the
        counts of what was read and rejected.

    Warns
    -----
    UserWarning
        If rows were rejected, with the main reasons.

    Raises
    ------
    InputError
        If the file is in no known format, or nothing of it can be kept.
    """
    source = reading.open_chains(path, format, columns)
    result = normalise(source, sample_id=Path(path).name.split(".")[0], species=species)
    for sentence in result.counts["warnings"]:
        warnings.warn(sentence, stacklevel=2)
    receptors = result.receptors.take(_rows(result))
    frame = cell_tables.with_receptors(result.cells, receptors).to_pandas()
    frame.attrs["counts"] = result.counts
    return frame


def embed(receptors: pd.DataFrame | pa.Table, *, model: str = "sceptr", device: str = "cpu") -> pd.DataFrame:
    """
    Vectors of receptors, row for row.

    Parameters
    ----------
    receptors : DataFrame or pyarrow.Table
        Some of ``tra_v_call``, ``tra_junction_aa``, ``trb_v_call`` and ``trb_junction_aa``, and ``species``
        where it is not human; names of genes are standardised.
    model : str
        A published variant, or the folder of a model.
    device : {"cpu", "auto", "gpu"}
        Where the model runs.

    Returns
    -------
    DataFrame
        With the index of ``receptors``: ``dim_01``, ``dim_02``, … float32, l2-normalised, NaN for a row that
        was rejected or of which the model sees no loop; and ``chains``, what the vector has seen: paired,
        alpha or beta, None without a vector. Its ``attrs["counts"]`` hold ``rows``, ``without_vector`` and
        ``chain_lost``, rows with a vector of one chain whose other chain was rejected.

    Warns
    -----
    UserWarning
        If rows have no vector, or one that has seen one of two given chains alone.

    Raises
    ------
    InputError
        If none of the columns is there, or no row holds a receptor.
    """
    frame = receptors.to_pandas() if isinstance(receptors, pa.Table) else receptors
    result = _standardised(frame)
    encoder = Sceptr(model, device=device)
    of_receptors = encoder.embed(result.receptors)
    vectors = np.full((len(frame), of_receptors.shape[1]), np.nan, np.float32)
    kept = result.cells["cell_id"].cast(pa.int64()).to_numpy()
    rows = _rows(result).to_numpy()
    vectors[kept] = of_receptors[rows]
    has_vector = ~np.isnan(vectors[:, 0])
    present = np.zeros((len(frame), 2), bool)  # α, β
    present[kept] = _present(result.receptors)[rows]
    lost = has_vector & (_given(frame) & ~present).any(axis=1)
    for n, what, among in (
        (int((~has_vector).sum()), "no vector", ~has_vector),
        (int(lost.sum()), "a vector of one chain alone, as the other was rejected", lost),
    ):
        if n:
            reasons = _reasons(result.rejects, among)
            warnings.warn(f"{n} of {len(frame)} rows have {what}{reasons}", stacklevel=2)
    read = [any(loop.endswith(letter) for loop in encoder.loaded.config.loops) for letter in "ab"]
    found = pd.DataFrame(vectors, frame.index, schema.dimensions(vectors.shape[1]))
    found["chains"] = _words(present & has_vector[:, None] & read)
    found.attrs["counts"] = {
        "rows": len(frame),
        "without_vector": int((~has_vector).sum()),
        "chain_lost": int(lost.sum()),
    }
    return found


def nearest(
    queries: pd.DataFrame, references: pd.DataFrame, k: int = 10, *, threads: int = 1
) -> pd.DataFrame:
    """
    The nearest references of each query, exact.

    Parameters
    ----------
    queries, references : DataFrame
        Vectors, as `embed` gives them.
    k : int
        How many.
    threads : int
        Of the processor.

    Returns
    -------
    DataFrame
        ``query`` and ``reference`` (labels of the indices), ``rank`` from 1, ``distance`` (Euclidean, 0 to
        2); rows without a vector are left out.
    """
    distances, rows = neighbours.nearest(_numbers(queries), _numbers(references), k, threads=threads)
    found = rows.ravel() >= 0
    return pd.DataFrame(
        {
            "query": queries.index.repeat(k)[found],
            "reference": references.index[rows.ravel()[found]],
            "rank": np.tile(np.arange(1, k + 1), len(queries))[found],
            "distance": distances.ravel()[found],
        }
    )


def _numbers(vectors: pd.DataFrame) -> np.ndarray:
    """The dimensions of vectors, without what else `embed` says of them."""
    return vectors.drop(columns="chains", errors="ignore").to_numpy(np.float32)


def _present(receptors: pa.Table) -> np.ndarray:
    """Whether receptors have an α and a β chain, shape (n, 2)."""
    junctions = [receptors[schema.field(locus, "junction_aa")] for locus in schema.LOCI]
    return np.stack([pc.is_valid(column).to_numpy() for column in junctions], axis=1)


def _given(frame: pd.DataFrame) -> np.ndarray:
    """Whether rows say anything of an α and of a β chain, shape (n, 2)."""
    said = []
    for locus in schema.LOCI:
        names = [name for name in _PLAIN if name.startswith(locus.lower()) and name in frame]
        words = frame[names].astype(object)
        said.append((words.notna() & ~words.isin(NULLS)).any(axis=1).to_numpy())
    return np.stack(said, axis=1)


def _words(seen: np.ndarray) -> np.ndarray:
    """The chains that vectors have seen, in words; None of those that saw none."""
    alpha, beta = seen.T
    return np.select([alpha & beta, alpha, beta], ["paired", "alpha", "beta"], None)


def _reasons(rejects: pa.Table, among: np.ndarray) -> str:
    """Why chains of some rows were rejected, from the most frequent reason down, in brackets."""
    of_rows = rejects.filter(pa.array(among[rejects["row"].to_numpy() - 1]))
    counts = Counter(of_rows["reason"].to_pylist()).most_common()
    return f" ({'; '.join(f'{n} × {reason}' for reason, n in counts)})" if counts else ""


def _standardised(frame: pd.DataFrame) -> Normalised:
    """The receptors of a wide table; ``cell_id`` is the row's number."""
    present = {name: plain for name, plain in _PLAIN.items() if name in frame}
    if not any(name.endswith("junction_aa") for name in present):
        raise InputError(
            "the table has no column tra_junction_aa or trb_junction_aa",
            fix="Read files with airrvec.read, or rename the columns",
        )
    words = frame[[*present, *(["species"] if "species" in frame else [])]].astype(object)
    table = pa.table(
        {present.get(name, name): pa.array(words[name], pa.string(), from_pandas=True) for name in words}
    )
    numbers = pa.array(range(len(frame)), pa.int64())
    table = table.append_column("row", pc.add(numbers, 1)).append_column("cell_id", numbers.cast(pa.string()))
    chains = sceptr.chains(_complete(table))
    batch = reading.Batch(chains, 1, len(frame), [])
    return normalise(reading.Source("table", [], iter([batch])), sample_id="table", species="homosapiens")


def _complete(table: pa.Table) -> pa.Table:
    for name in (*sceptr.LAYOUTS[0], *sceptr.OPTIONAL):
        if name not in table.column_names:
            table = table.append_column(name, pa.nulls(len(table), pa.string()))
    return table


def _rows(result: Normalised) -> pa.Array:
    """The receptor of each cell, a row of ``receptors``."""
    ids = result.receptors["receptor_id"].combine_chunks()
    return pc.index_in(result.cells["receptor_id"].combine_chunks(), ids)
