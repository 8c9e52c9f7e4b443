"""
Receptors to train or validate on, and their assignment to batches.

Rows with equal tokens are copies of one receptor, whatever their identifiers and labels.
`airrvec.training.objectives` does not compare a receptor with its copies.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from airrvec.core.seeds import numbered_generator
from airrvec.model.tokens import Tokens

import numpy as np


@dataclass(frozen=True)
class Receptors:
    """
    Receptors to train or validate on.

    Attributes
    ----------
    tokens : Tokens
        Tokens of n receptors.
    labels : ndarray of int, shape (n,), optional
        Label number of each receptor; batches are balanced over the labels. A receptor with several labels
        has one row per label.
    """

    tokens: Tokens
    labels: np.ndarray | None = None

    def rows(self, step: int, batch_size: int, seed: int, *, distinct: bool = False) -> np.ndarray:
        """
        Return the rows of a batch, in random order.

        Without labels, every receptor is drawn once before any is drawn again, and a batch is at most as
        large as the table. With labels, this holds for the receptors of each label, and all labels have the
        same number of places in a batch: a label with fewer receptors than places is filled with copies.

        Parameters
        ----------
        step : int
            Number of the batch, counted from 0.
        batch_size : int
            Number of places in a batch.
        seed : int
            Seed of the random orders.
        distinct : bool
            Whether no row is repeated in a batch, as in validation: a label has at most as many places as
            receptors.
        """
        if self.labels is None:
            size = min(batch_size, len(self.tokens))
            return _cycled(np.arange(len(self.tokens)), step, size, seed, distinct)
        size = self.places(batch_size)
        return np.concatenate(
            [_cycled(group, step, size, seed + 1 + n, distinct) for n, group in enumerate(self._groups)]
        )

    def comparable(self, rows: np.ndarray, contrastive: str | None) -> bool:
        """
        Return whether a contrastive loss of these rows depends on the model.

        The loss is always 0 if all rows are copies of one receptor. The neighbour loss is also always 0 if no
        receptor has both another receptor with its label and one without it.

        Parameters
        ----------
        rows : ndarray of int
            Rows of one batch.
        contrastive : {"auto", "supervised", "neighbour", None}
            As in `airrvec.training.presets.Objective`.
        """
        if contrastive is None:
            return True
        contents, first = np.unique(self.contents[rows], return_index=True)
        if contrastive != "neighbour":
            return len(contents) > 1
        with_label = self.known_labels[rows[first]].sum(axis=0)
        return bool(((with_label > 1) & (with_label < len(contents))).any())

    def places(self, batch_size: int) -> int:
        """Return the number of places of each label in a batch."""
        return max(batch_size // len(self._groups), 1)

    @cached_property
    def contents(self) -> np.ndarray:
        """Number of each row's receptor, equal for rows with equal tokens; shape (n,)."""
        return self.tokens.contents

    @cached_property
    def known_labels(self) -> np.ndarray:
        """True for every label of a row's receptor, over all its rows; shape (n, largest label + 1)."""
        known = np.zeros((self.contents.max(initial=-1) + 1, self.labels.max(initial=-1) + 1), bool)
        known[self.contents, self.labels] = True
        return known[self.contents]

    @cached_property
    def _groups(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.labels == label) for label in np.unique(self.labels)]


def _cycled(rows: np.ndarray, step: int, size: int, seed: int, distinct: bool) -> np.ndarray:
    """Return batch ``step`` of ``size`` rows from an endless sequence of random orders of all ``rows``."""
    if distinct:
        # A batch across two orders could repeat a row, so each order gives whole batches only.
        size = min(size, len(rows))
        cycle, within = divmod(step, len(rows) // size)
        return rows[_order(len(rows), seed, cycle)[within * size : (within + 1) * size]]
    cycles, within = np.divmod(np.arange(step * size, (step + 1) * size), len(rows))
    parts = [_order(len(rows), seed, cycle)[within[cycles == cycle]] for cycle in np.unique(cycles).tolist()]
    return rows[np.concatenate(parts)]


@lru_cache(maxsize=64)
def _order(n: int, seed: int, cycle: int) -> np.ndarray:
    return numbered_generator((seed, cycle)).permutation(n)
