"""
AnnData (``.h5ad``) and MuData (``.h5mu``): chains in ``obsm/airr`` or columns of ``obs``, to Arrow.

Columns are named by their place: ``obs_names``, ``obs/epitope``, ``obsm/airr/junction_aa``.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.errors import InputError
from airrvec.readers._container import TextBatch, open_seekable, strings, unreadable

# HDF5 begins with its signature, MuData with its name in a block before that.
MAGIC = (b"\x89HDF\r\n\x1a\n", b"MuData")

OBS_NAMES = "obs_names"
_OBS, _AIRR = "obs/", "obsm/airr/"


class AnnDataTable:
    """
    The observations of an AnnData file, or of the modality of a MuData file that has chains.

    Parameters
    ----------
    path : str or Path
        The file.

    Raises
    ------
    InputError
        If the file is damaged, or holds no observations; `batches` may raise it too.
    """

    delimiter = None

    def __init__(self, path: str | Path):
        self._path = path
        with self._opened() as root:
            self._chains = _read_elem(root["obsm/airr"]) if "obsm/airr" in root else None
            self._obs = [name for name in root["obs"] if name != root["obs"].attrs["_index"]]
            self._cells = pa.array(_read_elem(root["obs"][root["obs"].attrs["_index"]]).astype(str))
            self._chain_fields = _fields(self._chains)
        if not len(self._cells):
            raise InputError("the file has no observations", file=path)

    def names(self, header_rows: int = 1) -> list[str]:
        """Places of the columns."""
        return [
            OBS_NAMES,
            *(_AIRR + name for name in self._chain_fields),
            *(_OBS + name for name in self._obs),
        ]

    def batches(self, columns: list[str], header_rows: int = 1) -> Iterator[TextBatch]:
        """All observations at once; each as often as it has chains, if fields of chains are asked for."""
        wanted = [name for name in columns if name in self.names()]
        with self._opened() as root:
            columns = {name: self._column(root, name) for name in wanted if not name.startswith(_AIRR)}
            numbers = pa.array(np.arange(len(self._cells)))
            if len(columns) < len(wanted):
                import awkward

                lists = awkward.to_arrow(self._chains, extensionarray=False)
                chains, numbers = pc.list_flatten(lists), pc.list_parent_indices(lists)
                columns = {name: values.take(numbers) for name, values in columns.items()}
                for name in wanted:
                    if name.startswith(_AIRR):
                        columns[name] = strings(pc.struct_field(chains, name.removeprefix(_AIRR)))
            table = pa.table({**columns, "row": pc.add(numbers, 1).cast(pa.int64())})
        yield TextBatch(table, len(self._cells), [])

    def _column(self, root, name: str) -> pa.Array:
        if name == OBS_NAMES:
            return self._cells
        import pandas as pd

        values = pa.array(pd.Series(_read_elem(root["obs"][name.removeprefix(_OBS)])), from_pandas=True)
        return strings(values)

    @contextmanager
    def _opened(self):
        import h5py

        try:
            with open_seekable(self._path) as handle, h5py.File(handle, "r") as file:
                yield _root(file)
        except InputError:
            raise
        except Exception as error:  # HDF5, anndata and awkward raise what they like
            raise unreadable(self._path, "AnnData", error) from error


def _root(file):
    """The part of the file that has the chains: of MuData a modality, ``airr`` before others."""
    if "mod" not in file:
        return file
    modalities = sorted(file["mod"], key=lambda name: (f"mod/{name}/obsm/airr" not in file, name != "airr"))
    return file["mod"][modalities[0]]


def _read_elem(element):
    from anndata.io import read_elem  # takes seconds, which other inputs need not wait

    return read_elem(element)


def _fields(chains) -> list[str]:
    if chains is None:
        return []
    import awkward

    if not awkward.is_valid(chains):
        raise ValueError(awkward.validity_error(chains))
    return awkward.fields(chains)
