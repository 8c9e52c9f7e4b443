"""
Reader of HDF5 files in a separate process: the chains of AnnData and MuData.

`airrvec.input.files.anndata_table` asks it.
"""

import os
from contextlib import contextmanager

from airrvec.input.files.container import open_seekable, strings, too_large
from airrvec.input.files.processor_time import limit_time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

OBS_NAMES = "obs_names"
OBS, AIRR = "obs/", "obsm/airr/"


def answer(path: str, limit: int, columns: list[str] | None) -> tuple[dict, pa.Table | None]:
    """Return the names of all columns and the number of observations, or the requested columns."""
    import anndata.io  # noqa: F401, imported before the CPU time of the file is counted

    with _opened(path, limit) as observations:
        if columns is None:
            return {"names": observations.names, "n_observations": len(observations.cells)}, None
        return {}, observations.table(columns)


@contextmanager
def _opened(path: str, limit: int):
    import h5py

    with open_seekable(path, limit) as handle:
        limit_time(handle.seek(0, os.SEEK_END))
        handle.seek(0)
        with h5py.File(handle, "r") as file:
            yield Observations(path, _root(file), limit)


def _root(file):
    """Return the group with the chains: the file, or a modality of MuData, ``airr`` before others."""
    if "mod" not in file:
        return file
    modalities = sorted(file["mod"], key=lambda name: (f"mod/{name}/obsm/airr" not in file, name != "airr"))
    return file["mod"][modalities[0]]


class Observations:
    """
    Observations of an AnnData file, or of the MuData modality that has chains.

    Parameters
    ----------
    path : str
        Path of the file, for messages.
    root : h5py.Group
        Group of the file or modality.
    limit : int
        Maximum number of bytes of one element.

    Attributes
    ----------
    names : list of str
        Paths of the columns.
    cells : pyarrow.Array
        Names of the observations.
    """

    def __init__(self, path: str, root, limit: int):
        self._path, self._root, self._limit = path, root, limit
        index = root["obs"].attrs["_index"]
        self.cells = pa.array(self._read(f"obs/{index}").astype(str))
        self._chains = self._read("obsm/airr") if "obsm/airr" in root else None
        obs = [name for name in root["obs"] if name != index]
        self.names = [
            OBS_NAMES,
            *(AIRR + name for name in _fields(self._chains)),
            *(OBS + name for name in obs),
        ]

    def table(self, columns: list[str]) -> pa.Table:
        """Return columns as strings, and ``row``; one row per chain if chain fields are requested."""
        values = {name: self._column(name) for name in columns if not name.startswith(AIRR)}
        numbers = pa.array(np.arange(len(self.cells)))
        if len(values) < len(columns):
            import awkward

            lists = awkward.to_arrow(self._chains, extensionarray=False)
            chains, numbers = pc.list_flatten(lists), pc.list_parent_indices(lists)
            values = {name: column.take(numbers) for name, column in values.items()}
            for name in columns:
                if name.startswith(AIRR):
                    values[name] = strings(pc.struct_field(chains, name.removeprefix(AIRR)))
        return pa.table({**values, "row": pc.add(numbers, 1).cast(pa.int64())})

    def _column(self, name: str) -> pa.Array:
        if name == OBS_NAMES:
            return self.cells
        import pandas as pd

        return strings(pa.array(pd.Series(self._read(name)), from_pandas=True))

    def _read(self, place: str):
        from anndata.io import read_elem  # takes seconds

        element = self._root[place]
        n_bytes = _size(element)
        if n_bytes > self._limit:
            raise too_large(self._path, self._limit, column=place)
        return read_elem(element)


def _size(element) -> int:
    """Return the unpacked bytes of a dataset, or of all datasets of a group."""
    if hasattr(element, "nbytes"):
        return element.nbytes
    return sum(_size(element[name]) for name in element)


def _fields(chains) -> list[str]:
    if chains is None:
        return []
    import awkward

    if not awkward.is_valid(chains):
        raise ValueError(awkward.validity_error(chains))
    return awkward.fields(chains)
