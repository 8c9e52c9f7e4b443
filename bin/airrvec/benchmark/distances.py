"""Vectors of the receptors of a benchmark, and rows of their distance matrix."""

from functools import cached_property

from airrvec.benchmark.rules import KERNEL, KERNEL_IN_SPREADS
from airrvec.core.plural import counted
from airrvec.encoders import NotMeasurable, distance_rows, has_vectors, vector_distance_rows

import numpy as np
import pyarrow as pa
from scipy import sparse

BATCH_BYTES = 2**24  # memory for distances computed at once
KEPT_BYTES = 2**30  # memory for distances kept for reuse, and their exponentials
SAMPLE = 1000  # receptors, evenly spaced in the table, that show the spread of the distances
MAX_EXPONENT = 80  # exp(-80) is still a normal float32


class Distances:
    """
    Vectors of the receptors, if the encoder has them, and rows of their distance matrix.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    receptors : pyarrow.Table
        n ``receptors``.
    background : pyarrow.Table, optional
        Further ``receptors``; only their vectors are computed.

    Raises
    ------
    NotMeasurable
        If a column that the encoder needs, or a vector, is missing for some receptors.
    """

    def __init__(self, encoder, receptors: pa.Table, background: pa.Table | None):
        for column in getattr(encoder, "needs", ()):
            if receptors[column].null_count:
                n = counted(receptors[column].null_count, "receptor lacks", "receptors lack")
                raise NotMeasurable(f"it needs {column}, which {n}")
        self.n = len(receptors)
        self._own_kernel = getattr(encoder, "kernel", None)
        self.has_vectors = has_vectors(encoder)
        if self.has_vectors:
            self.vectors = _complete_vectors(encoder.embed(receptors), "receptors")
            self.background = (
                None
                if background is None
                else _complete_vectors(encoder.embed(background), "background receptors")
            )
            self.rows_to_all = vector_distance_rows(self.vectors)
        else:
            self.rows_to_all = distance_rows(encoder, receptors)
        self._kept_rows, self._kept = np.array([], np.int64), np.empty((0, self.n), np.float32)
        self._terms = None

    @cached_property
    def kernel(self) -> float:
        """
        Kernel width of the rules that have one, in the unit of the distances.

        The encoder may name it as ``kernel``; otherwise it is `KERNEL_IN_SPREADS` standard deviations of the
        distances between at most `SAMPLE` receptors.
        """
        if self._own_kernel is not None:
            return self._own_kernel
        sample = np.unique(np.linspace(0, self.n - 1, SAMPLE).astype(int))
        step = max(BATCH_BYTES // (8 * self.n), 1)
        blocks = [
            self.rows_to_all(sample[start : start + step])[:, sample] for start in range(0, len(sample), step)
        ]
        distances = np.concatenate(blocks)[np.triu_indices(len(sample), 1)].astype(float)
        spread = distances.std() if len(distances) else 0.0
        return float(KERNEL_IN_SPREADS * spread) if spread > 0 else KERNEL  # equal distances need no width

    def fit(self, rows: np.ndarray) -> bool:
        """Return whether the distances of some receptors to all, and their exponentials, may be kept."""
        return len(rows) * self.n * 8 <= KEPT_BYTES

    def keep(self, rows: np.ndarray) -> None:
        """Compute and keep the distances of some receptors to all, if they fit; ``rows`` are sorted."""
        if not self.fit(rows) or np.array_equal(rows, self._kept_rows):
            return
        self._kept_rows, self._kept = rows, np.empty((len(rows), self.n), np.float32)
        step = max(BATCH_BYTES // (8 * self.n), 1)
        for start in range(0, len(rows), step):
            block = slice(start, start + step)
            self._kept[block] = _complete_distances(self.rows_to_all(rows[block]))
        self._terms = None

    def density(self, references: np.ndarray) -> np.ndarray | None:
        """
        Return Σ exp(−d / `kernel`) over references, shape (s, k), for all receptors; shape (s, n).

        None if the distances are not kept, or so large that terms underflow in float32.
        """
        if not len(self._kept) or not np.isin(references, self._kept_rows).all():
            return None
        if self._terms is None:
            if self._kept.max() >= MAX_EXPONENT * self.kernel:
                return None
            self._terms = np.exp(self._kept / np.float32(-self.kernel))
        columns = np.searchsorted(self._kept_rows, references).ravel()
        rows = np.repeat(np.arange(len(references)), references.shape[1])
        shape = (len(references), len(self._kept_rows))
        chosen = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
        return chosen @ self._terms

    def distances(self, references: np.ndarray) -> np.ndarray:
        """Return distances, shape (s, n, k), of all receptors to the references of s splits, shape (s, k)."""
        rows, values = self._kept_rows, self._kept
        if not np.isin(references, rows).all():
            rows = np.unique(references)
            values = _complete_distances(self.rows_to_all(rows)).astype(np.float32)
        return values[np.searchsorted(rows, references)].swapaxes(1, 2)


def _complete_vectors(vectors: np.ndarray, what: str) -> np.ndarray:
    """Return the vectors, shape (n, d); raise `NotMeasurable` if one is missing."""
    missing = np.isnan(vectors).any(axis=1).sum() if vectors.dtype.kind == "f" else 0
    if missing:
        raise NotMeasurable(f"it has no vector for {missing} of {len(vectors)} {what}")
    return vectors


def _complete_distances(distances: np.ndarray) -> np.ndarray:
    """Return the distances of some receptors to all n, shape (s, n); raise `NotMeasurable` if one is NaN."""
    missing = np.isnan(distances) if distances.dtype.kind == "f" else np.zeros((1, 1), bool)
    if not missing.any():
        return distances
    partial = missing[~missing.all(axis=1)]  # a row without any distance is no evidence about its columns
    if not len(partial):
        raise NotMeasurable(f"it has no distances for {counted(len(missing), 'receptor')} or more")
    n_without = partial.all(axis=0).sum()
    if n_without:
        raise NotMeasurable(f"it has no distances for {n_without} of {missing.shape[1]} receptors")
    raise NotMeasurable(f"it has no distance for {partial.sum()} of {partial.size} pairs of receptors")
