"""
AnnData (``.h5ad``) and MuData (``.h5mu``) files: chains from ``obsm/airr`` or ``obs`` as Arrow tables.

Columns are named by their path: ``obs_names``, ``obs/epitope``, ``obsm/airr/junction_aa``. A separate
process reads the file (`airrvec.input.files.hdf5`), because HDF5 may crash on a damaged file.
"""

from collections.abc import Iterator
from pathlib import Path

from airrvec.core.errors import InputError
from airrvec.input.files import separate
from airrvec.input.files.container import MAX_UNPACKED, TextBatch
from airrvec.input.files.hdf5 import OBS_NAMES

import pyarrow as pa

__all__ = ["MAGIC", "OBS_NAMES", "AnnDataTable"]

# HDF5 starts with its signature; MuData has a block with its name before the signature.
MAGIC = (b"\x89HDF\r\n\x1a\n", b"MuData")


class AnnDataTable:
    """
    Observations of an AnnData file, or of the MuData modality that has chains.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    limit : int
        Maximum number of unpacked bytes of the file, or of one of its elements.

    Raises
    ------
    InputError
        If the file is damaged, too large, or has no observations; `batches` may raise it too.
    """

    delimiter = None

    def __init__(self, path: str | Path, limit: int = MAX_UNPACKED):
        self._path, self._limit = str(path), limit
        answer, _ = self._ask(columns=None)
        self._names, self._n_observations = answer["names"], answer["n_observations"]
        if not self._n_observations:
            raise InputError("the file has no observations", file=path)

    def _ask(self, columns: list[str] | None) -> tuple[dict, pa.Table | None]:
        return separate.process.ask(separate.ANNDATA, self._path, limit=self._limit, columns=columns)

    def names(self, header_rows: int = 1) -> list[str]:
        """Return the paths of the columns."""
        return self._names

    def batches(
        self, columns: list[str], header_rows: int = 1, needed: tuple[str, ...] = ()
    ) -> Iterator[TextBatch]:
        """Yield all observations in one batch; one row per chain if chain fields are requested."""
        wanted = [name for name in columns if name in self._names]
        _, table = self._ask(columns=wanted)
        yield TextBatch(table, self._n_observations, [])
