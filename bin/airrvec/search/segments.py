"""
Vectors on the disk, grouped by cell: only the cells that a search needs are read, and each has a checksum.

All segments of an index share their cells, those of fixed centres: a segment is added without a look at the
others.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.seeds import numbered_generator
from airrvec.search import neighbours

import numpy as np

RECORDS, CELLS = "records.bin", "cells.npy"
READ_AT_ONCE = 2**16  # vectors
ROUNDS = 4  # of k-means: ten find .003 more of the neighbours, and take three times as long


@dataclass(frozen=True)
class Segment:
    """
    Vectors of a folder written by `write_segment`.

    Attributes
    ----------
    folder : Path
        With `RECORDS`, the vectors and their rows by cell, and `CELLS`, first place and CRC-32 of each cell.
    n_dimensions : int
        d.
    fix : str
        What to do if the folder is damaged, for error messages.
    """

    folder: Path
    n_dimensions: int
    fix: str

    @cached_property
    def _cells(self) -> np.ndarray:
        try:
            cells = np.load(self.folder / CELLS, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"it cannot be read ({error})", file=self.folder / CELLS, fix=self.fix
            ) from error
        return cells

    @property
    def starts(self) -> np.ndarray:
        """Place of the first vector of each cell, and the number of vectors: int64, shape (n_cells + 1,)."""
        return self._cells[0]

    def __len__(self) -> int:
        return int(self.starts[-1])

    def read(self, first: int, last: int) -> np.ndarray:
        """
        Return the records of the cells from ``first`` to before ``last``, compared with their checksums.

        Returns
        -------
        ndarray with the fields ``row`` (int32) and ``vector`` (float32, shape (d,))

        Raises
        ------
        InputError
            If the file is damaged.
        """
        path, kind = self.folder / RECORDS, record(self.n_dimensions)
        bounds = self.starts[first : last + 1].tolist()
        with path.open("rb") as handle:
            handle.seek(bounds[0] * kind.itemsize)
            content = handle.read((bounds[-1] - bounds[0]) * kind.itemsize)
        view = memoryview(content)
        places = [(place - bounds[0]) * kind.itemsize for place in bounds]
        found = [zlib.crc32(view[a:b]) for a, b in pairwise(places)]
        if found != self._cells[1, first:last].tolist() or len(content) != places[-1]:
            raise InputError("the file is damaged: a cell differs from its checksum", file=path, fix=self.fix)
        return np.frombuffer(content, kind)


def record(n_dimensions: int) -> np.dtype:
    """Return the type of a vector with its row, little-endian on any machine."""
    return np.dtype([("row", "<i4"), ("vector", "<f4", (n_dimensions,))])


def write_segment(
    folder: Path, vectors: np.ndarray, rows: np.ndarray, cell: np.ndarray, n_cells: int
) -> None:
    """
    Write a segment.

    Parameters
    ----------
    folder : Path
        An existing folder.
    vectors : ndarray of float32, shape (n, d)
        Without NaN.
    rows : ndarray of int, shape (n,)
        What `Segment.read` returns with each vector; below 2^31.
    cell : ndarray of int, shape (n,)
        Cell of each vector, from `cells_of`.
    n_cells : int
        Number of cells.
    """
    order = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
    checksums = np.zeros(n_cells + 1, np.int64)
    with tables.atomic_path(folder / RECORDS) as temporary, temporary.open("wb") as handle:
        for first, last in spans(starts, np.ones(n_cells, bool)):
            chosen = order[starts[first] : starts[last]]
            part = np.empty(len(chosen), record(vectors.shape[1]))
            part["row"], part["vector"] = rows[chosen], vectors[chosen]
            for number in range(first, last):
                begin, end = starts[[number, number + 1]] - starts[first]
                checksums[number] = zlib.crc32(part[begin:end].tobytes())
            part.tofile(handle)
    with tables.atomic_path(folder / CELLS) as temporary, temporary.open("wb") as handle:
        np.save(handle, np.stack([starts, checksums]))


def spans(starts: np.ndarray, wanted: np.ndarray) -> Iterator[tuple[int, int]]:
    """
    Yield spans of adjacent wanted cells, first and last + 1, of about `READ_AT_ONCE` vectors.

    Parameters
    ----------
    starts : ndarray of int, shape (n_cells + 1,)
        Vectors before each cell, over all segments.
    wanted : ndarray of bool, shape (n_cells,)
    """
    first = None
    for number, is_wanted in enumerate(wanted.tolist()):
        full = first is not None and starts[number + 1] - starts[first] > READ_AT_ONCE
        if first is not None and (not is_wanted or full):
            yield first, number
            first = None
        if is_wanted and first is None:
            first = number
    if first is not None:
        yield first, len(wanted)


def cells_of(vectors: np.ndarray, centres: np.ndarray, *, threads: int = 1) -> np.ndarray:
    """Return the cell of each vector, that of the nearest centre; ndarray of int64, shape (n,)."""
    exact = {"threads": threads, "approximate_above": np.inf}
    return neighbours.nearest(vectors, centres, 1, **exact)[1][:, 0]


def cell_centres(vectors: np.ndarray, n_cells: int, *, seed: int, threads: int = 1) -> np.ndarray:
    """
    Return the centres of cells by k-means, `ROUNDS` rounds from random vectors.

    Parameters
    ----------
    vectors : ndarray of float32, shape (n, d)
        At least one.
    n_cells : int
        Number of cells, at most n.
    seed : int
        Seed of the first centres.

    Returns
    -------
    ndarray of float32, shape (n_cells, d)
        A cell that loses all its vectors keeps its centre.
    """
    centres = vectors[numbered_generator(seed).permutation(len(vectors))[:n_cells]].copy()
    for _ in range(ROUNDS):
        cell = cells_of(vectors, centres, threads=threads)
        order = np.argsort(cell, kind="stable")
        numbers, first = np.unique(cell[order], return_index=True)
        sums = np.add.reduceat(vectors[order], first, axis=0, dtype=np.float64)
        counts = np.diff(np.append(first, len(order)))
        centres[numbers] = (sums / counts[:, None]).astype(np.float32)
    return centres
