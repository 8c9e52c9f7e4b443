"""References in cells, one behind the other."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Index:
    """
    References in cells, one behind the other.

    Attributes
    ----------
    vectors : ndarray of float32, shape (m, d)
        In the order of the cells.
    augmented : ndarray of float32, shape (m, d + 1)
        −2 r and r · r, whose product with (q, 1) is the squared distance less q · q.
    rows : ndarray of int64, shape (m,)
        What each was before it was ordered.
    starts : ndarray of int64, shape (n_cells + 1,)
    centres : ndarray of float32, shape (n_cells, d)
    """

    vectors: np.ndarray
    augmented: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    centres: np.ndarray


def index_of(references: np.ndarray, cell: np.ndarray, centres: np.ndarray) -> Index:
    rows = np.argsort(cell, kind="stable")
    vectors = np.ascontiguousarray(references[rows], np.float32)
    augmented = np.concatenate([-2 * vectors, (vectors**2).sum(axis=1, keepdims=True)], axis=1)
    starts = np.searchsorted(cell[rows], np.arange(len(centres) + 1))
    return Index(vectors, augmented, rows, starts, centres)


def one_cell(references: np.ndarray) -> Index:
    return index_of(references, np.zeros(len(references), np.int64), np.zeros((1, references.shape[1])))
