"""Tables in memory as input of the verbs: pandas, Arrow, polars, and AnnData and MuData of scirpy."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from airrvec.core import schema, tables
from airrvec.core.errors import InputError, kind
from airrvec.input.formats import sceptr
from airrvec.input.samplesheet.names import column_problems
from airrvec.input.values import MISSING

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray


class ArrowTable(Protocol):
    """A table that Arrow reads, such as those of polars."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Observations(Protocol):
    """AnnData, as far as it is used here."""

    @property
    def obs(self) -> pd.DataFrame: ...
    @property
    def obsm(self) -> Any: ...
    @property
    def uns(self) -> Any: ...


class Modalities(Protocol):
    """MuData, as far as it is used here."""

    @property
    def mod(self) -> Mapping[str, Any]: ...


Paths: TypeAlias = str | Path | Sequence[str | Path]
Frame: TypeAlias = pd.DataFrame | pa.Table | ArrowTable
Cells: TypeAlias = Observations | Modalities
Tables: TypeAlias = Paths | Frame | Cells | Mapping[str, Frame | Cells]

# Column of airrvec → column of a table in the format `sceptr`.
PLAIN = {
    schema.field(locus, name): f"{prefix}{locus[-1]}" if name == "junction_aa" else f"{locus}{segment}"
    for locus in schema.LOCI
    for name, prefix, segment in (("v_call", "", "V"), ("j_call", "", "J"), ("junction_aa", "CDR3", ""))
}
_LABELS = {"epitope": "Epitope", "mhc_a": "MHCA", "mhc_b": "MHCB"}
_PLAIN_NAMES = {
    **PLAIN,
    **{
        name: _LABELS.get(name, name)
        for name in ("species", "duplicate_count", *schema.LABELS)
        if _LABELS.get(name, name) in sceptr.OPTIONAL
    },
}
_OWN = re.compile(r"tr[ab]_[vj]_gene|airrvec_.*")  # of `airrvec.read`, and what `annotate` writes into obs
_ONE = "table"  # name of a sample without a name
_KINDS = (
    "a path, a list of paths, a table of pandas, Arrow or polars, an AnnData or MuData of scirpy, or a dict"
    " of names and such tables"
)


@dataclass(frozen=True)
class Part:
    """
    A table in memory: one of its samples, or cells of several.

    Attributes
    ----------
    name : str or None
        Name of the sample, if the caller names it.
    frame : DataFrame
        Its rows, or the ``obs`` of its cells.
    chains : awkward.Array or None
        ``obsm["airr"]`` of its cells.
    """

    name: str | None
    frame: pd.DataFrame
    chains: Any = None

    @property
    def samples(self) -> pd.Series:
        """Name of the sample of each row: the caller's, or that of the column ``sample_id``."""
        if self.name is None and "sample_id" in self.frame:
            return self.frame["sample_id"].astype(object)
        return pd.Series(self.name or _ONE, self.frame.index, dtype=object)


def are_paths(data: object) -> bool:
    """Return whether data are a path or a list of paths."""
    if isinstance(data, str | Path):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(x, str | Path) for x in data)


def paths_of(data: Any) -> list[Path]:
    """Return the paths of files that a caller names."""
    if data is None:
        return []
    return [Path(data)] if isinstance(data, str | Path) else [Path(part) for part in data]


def cells_of(data: Any) -> Any:
    """
    Return AnnData, or the modality of MuData, with chains; None if data are neither.

    Raises
    ------
    InputError
        If they have no chains.
    """
    candidates = list(data.mod.values()) if hasattr(data, "mod") and hasattr(data, "obsm") else [data]
    if not all(hasattr(part, "obsm") and hasattr(part, "obs") for part in candidates):
        return None
    with_chains = [part for part in candidates if "airr" in part.obsm]
    if not with_chains:
        raise InputError(
            f"the {type(data).__name__} has no chains in obsm['airr']",
            fix="Read them with scirpy.io, or give a table with the columns of airrvec.read",
        )
    return with_chains[0]


def frame_of(data: Any, role: str = "the input") -> pd.DataFrame:
    """
    Return a table of pandas, Arrow or polars as a DataFrame.

    Raises
    ------
    InputError
        If it is none.
    """
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, pa.Table) or (
        hasattr(data, "__arrow_c_stream__") and not isinstance(data, pd.Series)
    ):
        table = data if isinstance(data, pa.Table) else pa.table(data)
        texts = [
            pa.field(field.name, pa.string()) if _is_view(field.type) else field for field in table.schema
        ]
        frame: pd.DataFrame = table.cast(pa.schema(texts, table.schema.metadata)).to_pandas()
        return frame
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        raise InputError(f"{role} is a lazy table", fix="Give its collect()")
    raise InputError(f"{role} is {kind(data)}, and must be {_KINDS}")


def _is_view(type_: pa.DataType) -> bool:
    return type_ in (pa.string_view(), pa.large_string())


def parts_of(data: object, role: str = "the input") -> list[Part]:
    """
    Return the tables in memory that a caller gives, one by one.

    Raises
    ------
    InputError
        If there is none, one is empty, or it is none that airrvec reads.
    """
    if isinstance(data, Mapping):
        if not data:
            raise InputError(f"{role} is empty")
        return [_part(str(name), table, f"{role}, '{name}',") for name, table in data.items()]
    return [_part(None, data, role)]


def _part(name: str | None, data: object, role: str) -> Part:
    cells = cells_of(data)
    if cells is not None:
        return Part(name, cells.obs, cells.obsm["airr"])
    frame = frame_of(data, role)
    check_columns(frame)
    return Part(name, frame)


def check_columns(frame: pd.DataFrame) -> None:
    """Raise `InputError` unless a table has rows and a column of junctions."""
    if not any(name.endswith("junction_aa") and name in frame for name in PLAIN):
        raise InputError(
            "the table has no column tra_junction_aa or trb_junction_aa",
            fix="Read files with airrvec.read, or rename the columns",
        )
    if not len(frame):
        raise InputError("the table has no rows")


def plain_table(frame: pd.DataFrame) -> pa.Table:
    """Return a wide table in the format `sceptr`: strings, and ``cell_id``, the row number from 0."""
    names = {name: plain for name, plain in _PLAIN_NAMES.items() if name in frame}
    words = frame[[*names]].astype(object)
    columns = {plain: _texts(words[name]) for name, plain in names.items()}
    for name in sceptr.LAYOUTS[0]:
        columns.setdefault(name, pa.nulls(len(frame), pa.string()))
    return pa.table(columns)


def _texts(values: pd.Series) -> pa.Array:
    try:
        return pa.array(values, pa.string(), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # numbers
        return pa.array([None if pd.isna(value) else _word(value) for value in values], pa.string())


def _word(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def has_chains(part: Part) -> NDArray[np.bool_]:
    """Return whether rows have any value for an α and for a β chain, shape (n, 2)."""
    if part.chains is not None:
        import awkward as ak

        loci = part.chains["locus"]
        present = [ak.to_numpy(ak.fill_none(ak.any(loci == locus, axis=1), False)) for locus in schema.LOCI]
        return np.stack(present, axis=1)
    has_value = []
    for locus in schema.LOCI:
        names = [name for name in PLAIN if name.startswith(locus.lower()) and name in part.frame]
        words = part.frame[names].astype(object)
        has_value.append((words.notna() & ~words.isin(MISSING)).any(axis=1).to_numpy())
    return np.stack(has_value, axis=1)


# --- Files of tables in memory: the name of each cell is the number of its row


def write(part: Part, rows: NDArray[np.int64], first: int, stem: Path) -> Path:
    """Write some rows of a part to a file; ``first``: number of its first row. Return its path."""
    names = [str(first + row) for row in rows]
    if part.chains is None:
        frame = part.frame.iloc[rows]
        if _counts_clonotypes(part.frame) and "abundance" in frame:
            frame = frame.assign(duplicate_count=frame["abundance"])
        table = plain_table(frame).append_column("cell_id", pa.array(names, pa.string()))
        tables.write(table, path := stem.with_suffix(".parquet"))
        return path
    import warnings

    import anndata

    labels = [name for name in ("species", *schema.LABELS) if name in part.frame]
    obs = part.frame[labels].iloc[rows].astype(object).set_axis(pd.Index(names, dtype=object), axis=0)
    obs = obs.map(lambda value: "" if pd.isna(value) else str(value)).astype(str).astype("category")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of lists as experimental
        cells = anndata.AnnData(obs=obs, obsm={"airr": part.chains[rows]})
        cells.write_h5ad(path := stem.with_suffix(".h5ad"))
    return path


def _counts_clonotypes(frame: pd.DataFrame) -> bool:
    """Return whether rows count their cells, UMIs, reads or copies, and not each once."""
    if "count_unit" not in frame:
        return "duplicate_count" in frame and "cell_id" not in frame
    counts = frame["abundance"] if "abundance" in frame else pd.Series(1, frame.index)
    return bool((frame["count_unit"].fillna("cells") != "cells").any() or (counts.fillna(1) != 1).any())


def _units(part: Part, rows: NDArray[np.int64]) -> dict[str, str]:
    """Return what a row is and what it counts, for the samplesheet."""
    if part.chains is not None:
        return {}
    if not _counts_clonotypes(part.frame):
        return {"row_unit": "cell"}
    units = {*part.frame["count_unit"].iloc[rows].dropna()} if "count_unit" in part.frame else set()
    return {"row_unit": "clonotype", **({"count_unit": str(*units)} if len(units) == 1 else {})}


def _metadata(part: Part, rows: NDArray[np.int64]) -> dict[str, str]:
    """Return the columns that may be metadata of a samplesheet and have one value in these rows."""
    values = {}
    for name in part.frame.columns:
        if not isinstance(name, str) or name == "sample_id" or _OWN.fullmatch(name):
            continue
        known = name == "hla" or (name != "sample" and not column_problems(["sample", "path", name]))
        if known and name not in ("format", "column_map", "role", "species", "path"):
            distinct = part.frame[name].iloc[rows].drop_duplicates()
            if len(distinct) == 1 and not pd.isna(distinct.iloc[0]):
                values[name] = " ".join(str(distinct.iloc[0]).split())
    return values


def samples_of(parts: list[Part]) -> Iterator[tuple[str, Part, int, NDArray[np.int64]]]:
    """Yield name, part, number of the part's first row, and rows of each sample."""
    first = 0
    for part in parts:
        names = part.samples
        if names.isna().any():
            raise InputError("a row has no sample_id", fix="Fill the column sample_id, or leave it out")
        for name, rows in pd.Series(np.arange(len(names))).groupby(names.to_numpy(), sort=False):
            yield str(name), part, first, rows.to_numpy()
        first += len(names)


def write_sheet(parts: list[Part], folder: Path) -> Path:
    """Write the samples of tables in memory, and a samplesheet of them; return its path."""
    sheet = []
    for number, (name, part, first, rows) in enumerate(samples_of(parts)):
        path = write(part, rows, first, folder / f"rows_{number}")
        sheet.append({"sample": name, "path": str(path), **_units(part, rows), **_metadata(part, rows)})
    columns = dict.fromkeys(name for row in sheet for name in row)
    path = folder / "tables_in_memory.csv"
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, [*columns], restval="")
        writer.writeheader()
        writer.writerows(sheet)
    return path


def labels_of(parts: list[Part]) -> pd.DataFrame:
    """Return the index of all rows, with the column ``cell_id`` if the caller has it."""
    frames = [
        part.frame[["cell_id"] if "cell_id" in part.frame else []].assign(_=0)
        if part.chains is None
        else pd.DataFrame({"cell_id": part.frame.index, "_": 0}, part.frame.index)
        for part in parts
    ]
    names = [part.name for part in parts]
    together = pd.concat(frames, keys=None if None in names else names)
    return together.drop(columns="_")
