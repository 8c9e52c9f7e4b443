"""Index of the nearest-neighbour search: references grouped by cell."""

from dataclasses import dataclass

from airrvec.search.collecting import NO_REFERENCE, WIDTH

import numpy as np


@dataclass(frozen=True)
class Index:
    """
    References grouped by cell, cells concatenated. Each cell begins at a multiple of `WIDTH`.

    Attributes
    ----------
    vectors : ndarray of float32, shape (m, d)
        References r by place.
    columns : ndarray of float32, shape (d + 1, m)
        (−2 r, r · r); the product of (q, 1) and a column is the squared distance minus q · q.
    rows : ndarray of int64, shape (m,)
        Row of each place in the original array; -1 in gaps.
    starts : ndarray of int64, shape (n_cells + 1,)
        First place of each cell, and m.
    centres : ndarray of float32, shape (n_cells, d)
        Centre of each cell.
    """

    vectors: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    centres: np.ndarray

    @property
    def largest_cell(self) -> int:
        """Places of the largest cell."""
        return int(np.diff(self.starts).max(initial=0))


def build_index(references: np.ndarray, cell: np.ndarray, centres: np.ndarray) -> Index:
    """Return the index of references, shape (m, d), whose cells, shape (m,), are known."""
    sizes = np.bincount(cell, minlength=len(centres))
    starts = np.concatenate([[0], np.cumsum(-(-sizes // WIDTH) * WIDTH)])
    order = np.argsort(cell, kind="stable")
    place = np.arange(len(order)) + np.repeat(starts[:-1] - np.cumsum(sizes) + sizes, sizes)
    rows = np.full(starts[-1], -1)
    rows[place] = order
    vectors = np.zeros((len(rows), references.shape[1]), np.float32)
    vectors[place] = references[order]
    columns = np.empty((references.shape[1] + 1, len(rows)), np.float32)
    np.multiply(vectors.T, -2, out=columns[:-1])
    columns[-1] = np.einsum("md,md->m", vectors, vectors)
    columns[-1, rows < 0] = NO_REFERENCE
    return Index(vectors, columns, rows, starts, centres)


def single_cell_index(references: np.ndarray) -> Index:
    """Return the index of an exact search."""
    return build_index(references, np.zeros(len(references), np.int64), np.zeros((1, references.shape[1])))
