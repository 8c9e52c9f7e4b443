"""Index of the nearest-neighbour search: references grouped by cell."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Index:
    """
    References grouped by cell, cells concatenated.

    Attributes
    ----------
    vectors : ndarray of float32, shape (m, d)
        References r, in the order of the cells.
    augmented : ndarray of float32, shape (m, d + 1)
        (−2 r, r · r); its product with (q, 1) is the squared distance minus q · q.
    rows : ndarray of int64, shape (m,)
        Row of each reference in the original array.
    starts : ndarray of int64, shape (n_cells + 1,)
        First vector of each cell, and m.
    centres : ndarray of float32, shape (n_cells, d)
        Centre of each cell.
    """

    vectors: np.ndarray
    augmented: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    centres: np.ndarray


def build_index(references: np.ndarray, cell: np.ndarray, centres: np.ndarray) -> Index:
    rows = np.argsort(cell, kind="stable")
    vectors = np.ascontiguousarray(references[rows], np.float32)
    augmented = np.concatenate([-2 * vectors, (vectors**2).sum(axis=1, keepdims=True)], axis=1)
    starts = np.searchsorted(cell[rows], np.arange(len(centres) + 1))
    return Index(vectors, augmented, rows, starts, centres)


def single_cell_index(references: np.ndarray) -> Index:
    return build_index(references, np.zeros(len(references), np.int64), np.zeros((1, references.shape[1])))
