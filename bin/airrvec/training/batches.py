"""
Receptors to train or validate on, and which of them a batch holds.

Receptors whose tokens are equal are one receptor to a model, whatever their rows, identifiers and labels.
`airrvec.training.objectives` compares no receptor with copies of itself.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from airrvec.model.tokens import Tokens


@dataclass(frozen=True)
class Receptors:
    """
    Receptors to train or validate on.

    Attributes
    ----------
    tokens : Tokens
        All of them.
    labels : ndarray of int, shape (n,), optional
        Number of each one's label; batches are balanced over the labels. A receptor with several
        labels has a row for each.
    """

    tokens: Tokens
    labels: np.ndarray | None = None

    def rows(self, step: int, batch_size: int, seed: int, *, distinct: bool = False) -> np.ndarray:
        """
        Return the receptors of a step, counted from 0; sorted by nothing.

        Without labels every receptor comes once before any comes again, and a batch is no larger than
        the table. With labels the first holds for the receptors of each label, and each label has as
        many places in the batch: a label with fewer receptors than places fills them with copies.

        Parameters
        ----------
        step : int
            Number of the batch.
        batch_size : int
            Places.
        seed : int
            Of the random orders.
        distinct : bool
            No row twice in a batch, as validation needs it: a label has as many places as it has
            receptors at most.
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
        Whether a contrastive loss of these rows depends on the model.

        It is 0 whatever the model is where no receptor has another to be told from, and the neighbour
        loss also where none has both another of its label and one without it.

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
        """Places of each label in a batch."""
        return max(batch_size // len(self._groups), 1)

    @cached_property
    def contents(self) -> np.ndarray:
        """One number for all rows with equal tokens; shape (n,)."""
        return self.tokens.contents

    @cached_property
    def known_labels(self) -> np.ndarray:
        """True at all labels that a row's receptor has in any row; shape (n, largest label + 1)."""
        known = np.zeros((self.contents.max(initial=-1) + 1, self.labels.max(initial=-1) + 1), bool)
        known[self.contents, self.labels] = True
        return known[self.contents]

    @cached_property
    def _groups(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.labels == label) for label in np.unique(self.labels)]


def _cycled(rows: np.ndarray, step: int, size: int, seed: int, distinct: bool) -> np.ndarray:
    """Places ``step · size`` and on of an endless row of random orders of all ``rows``."""
    if distinct:
        # Whole batches of one order each, so that no batch has a seam of two orders.
        size = min(size, len(rows))
        cycle, within = divmod(step, len(rows) // size)
        return rows[_order(len(rows), seed, cycle)[within * size : (within + 1) * size]]
    cycles, within = np.divmod(np.arange(step * size, (step + 1) * size), len(rows))
    parts = [_order(len(rows), seed, cycle)[within[cycles == cycle]] for cycle in np.unique(cycles).tolist()]
    return rows[np.concatenate(parts)]


@lru_cache(maxsize=64)
def _order(n: int, seed: int, cycle: int) -> np.ndarray:
    return np.random.default_rng([seed, cycle]).permutation(n)
