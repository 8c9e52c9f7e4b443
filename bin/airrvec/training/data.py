"""Receptors to train on: batches, and random views (paper, Methods, "SCEPTR Pre-training").

Rows with equal tokens are copies of one receptor, whatever their identifiers and labels.
`airrvec.training.losses` does not compare a receptor with its copies.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from airrvec.core.seeds import numbered_generator
from airrvec.model import tokens as tk
from airrvec.model.tokens import Tokens
from airrvec.training.losses import Loss

import numpy as np
import torch
from torch import Tensor


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

    def comparable(self, rows: np.ndarray, loss: Loss | None) -> bool:
        """
        Return whether a contrastive loss of these rows depends on the model.

        The loss is always 0 if all rows are copies of one receptor. A loss that needs pairs is also always 0
        if no receptor has both another receptor with its label and one without it.

        Parameters
        ----------
        rows : ndarray of int
            Rows of one batch.
        loss : Loss or None
            None if there is no contrastive term.
        """
        if loss is None:
            return True
        contents, first = np.unique(self.contents[rows], return_index=True)
        if not loss.needs_pairs:
            return len(contents) > 1
        with_label = self.known_labels[rows[first]].sum(axis=0)
        return bool(((with_label > 1) & (with_label < len(contents))).any())

    @property
    def n_labels(self) -> int:
        """Number of distinct labels."""
        return len(self._groups)

    def places(self, batch_size: int) -> int:
        """Return the number of places of each label in a batch."""
        return max(batch_size // self.n_labels, 1)

    @cached_property
    def contents(self) -> np.ndarray:
        """Number of each row's receptor, equal for rows with equal tokens; shape (n,)."""
        return self.tokens.contents

    @cached_property
    def known_labels(self) -> np.ndarray:
        """True for every label of a row's receptor, over all its rows; shape (n, largest label + 1)."""
        assert self.labels is not None  # only losses of labels ask for them
        n_labels = self.labels.max(initial=-1) + 1
        known = np.zeros((self.contents.max(initial=-1) + 1, n_labels), np.bool_)
        known[self.contents, self.labels] = True
        return known[self.contents]

    @cached_property
    def _groups(self) -> list[np.ndarray]:
        assert self.labels is not None
        return [np.flatnonzero(self.labels == label) for label in np.unique(self.labels)]


def _cycled(rows: np.ndarray, step: int, size: int, seed: int, distinct: bool) -> np.ndarray:
    """Return batch ``step`` of ``size`` rows from an endless sequence of random orders of all ``rows``."""
    if distinct:
        # A batch across two orders could repeat a row, so each order gives whole batches only.
        size = min(size, len(rows))
        cycle, within = divmod(step, len(rows) // size)
        return rows[_order(len(rows), seed, cycle)[within * size : (within + 1) * size]]
    cycles, places = np.divmod(np.arange(step * size, (step + 1) * size), len(rows))
    parts = [_order(len(rows), seed, cycle)[places[cycles == cycle]] for cycle in np.unique(cycles).tolist()]
    return rows[np.concatenate(parts)]


@lru_cache(maxsize=64)
def _order(n: int, seed: int, cycle: int) -> np.ndarray:
    return numbered_generator((seed, cycle)).permutation(n)


# --- Views: padding, censoring and masking

NO_TARGET = -100  # ignored by torch's cross entropy

P_MASK, P_REPLACE = 0.8, 0.1  # probabilities for a target; otherwise it is unchanged


@dataclass(frozen=True)
class PaddedTokens:
    """
    Tokens of a batch of receptors.

    Attributes
    ----------
    tokens : Tensor of int64, shape (B, T, 4)
        Residue, position, length and loop of each token (`airrvec.model.tokens`), ``<cls>`` first; 0 for
        padding.
    padding : Tensor of bool, shape (B, T)
        True for padding.
    """

    tokens: Tensor
    padding: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, rows) -> "PaddedTokens":
        """Return some receptors: a slice, or numbers of rows."""
        return PaddedTokens(self.tokens[rows], self.padding[rows])

    @property
    def residues(self) -> Tensor:
        """True for residues, False for ``<cls>`` and padding; shape (B, T)."""
        return ~self.padding & (self.tokens[..., tk.LOOP] > 0)

    def to(self, device: torch.device | str, **options) -> "PaddedTokens":
        """Return the tokens on another device."""
        return PaddedTokens(self.tokens.to(device, **options), self.padding.to(device, **options))

    def repeated(self, times: int = 2) -> "PaddedTokens":
        """Return (times · B, T, 4), copies of a receptor in consecutive rows: 2i and 2i + 1 for 2 copies."""
        return PaddedTokens(
            self.tokens.repeat_interleave(times, dim=0), self.padding.repeat_interleave(times, dim=0)
        )


def pad(tokens: tk.Tokens, rows: np.ndarray) -> PaddedTokens:
    """
    Return the tokens of some receptors as one batch.

    Parameters
    ----------
    tokens : Tokens
        Tokens of all receptors.
    rows : ndarray of int, shape (B,)
        Row numbers of the batch, in its order.

    Returns
    -------
    PaddedTokens
        T is the number of tokens of the longest receptor.
    """
    starts = tokens.offsets[:-1][rows, None]  # (B, 1)
    lengths = tokens.lengths[rows, None]
    column = np.arange(lengths.max(initial=0))
    padding = column >= lengths  # (B, T)
    values = tokens.values[np.where(padding, 0, starts + column)].astype(np.int64)
    values[padding] = 0
    return PaddedTokens(torch.from_numpy(values), torch.from_numpy(padding))


def censor(
    batch: PaddedTokens,
    loops: tuple[str, ...],
    *,
    residues: float = 0.2,
    chain: float = 0.5,
    generator: torch.Generator,
) -> PaddedTokens:
    """
    Return one random view of each receptor (paper, Methods, "SCEPTR Pre-training", "Procedure").

    First, a receptor with tokens of both chains loses one chain with probability ``chain``, α or β with equal
    probability. Then a random subset of the remaining residues is removed, a fixed share rounded up, but
    never the last residue. Order and rounding follow the reference implementation (tcrlm,
    ``ClBatchCollator``), which may remove the last residue. Remaining residues keep their position, length
    and loop in the whole receptor.

    Parameters
    ----------
    batch : PaddedTokens
        Receptors; not modified.
    loops : tuple of str
        Loops that the model reads (``ModelConfig.loops``); the last letter of a name is the chain.
    residues : float
        Share of residues to remove; 0 removes none.
    chain : float
        Probability of removing a chain; 0 removes none.
    generator : torch.Generator
        Source of all random numbers, on the device of the tokens.

    Returns
    -------
    PaddedTokens, of shape (B, T', 4)
        Remaining tokens, in their order and without gaps; T' is the largest number of remaining tokens.
    """
    kept = ~batch.padding
    if chain > 0:
        kept = kept & ~_dropped_chain(batch, loops, chain, generator)
    if residues > 0:
        candidates = kept & batch.residues
        n_candidates = candidates.sum(1)
        n_removed = torch.minimum(_share(n_candidates, residues, kept.shape[1]), n_candidates - 1)
        kept = kept & ~_random_subset(candidates, n_removed, generator)

    n_kept = kept.sum(1, keepdim=True)  # (B, 1)
    longest = int(n_kept.max()) if len(n_kept) else 0
    padding = torch.arange(longest, device=kept.device) >= n_kept  # (B, T')
    tokens = batch.tokens.new_zeros(*padding.shape, 4)
    tokens[~padding] = batch.tokens[kept]
    return PaddedTokens(tokens, padding)


def mask(
    batch: PaddedTokens, *, fraction: float = 0.15, generator: torch.Generator
) -> tuple[PaddedTokens, Tensor]:
    """
    Return receptors with masked residues (paper, Methods, "SCEPTR Pre-training", "Procedure").

    In each receptor, a random subset of the residues, a fixed share rounded up, are targets. A target is
    replaced by ``<mask>`` with probability 0.8, by one of the 19 other amino acids (equally likely) with
    probability 0.1, and stays unchanged with probability 0.1.

    Parameters
    ----------
    batch : PaddedTokens
        Receptors; not modified.
    fraction : float
        Share of residues that are targets.
    generator : torch.Generator
        Source of all random numbers, on the device of the tokens.

    Returns
    -------
    PaddedTokens
        Receptors, in the same shape; only residues of targets differ.
    Tensor of int64, shape (B, T)
        Index of the amino acid (0 to 19, as in `airrvec.model.tokens.AMINO_ACIDS`) of targets, -100
        elsewhere.
    """
    candidates = batch.residues
    n_targets = _share(candidates.sum(1), fraction, candidates.shape[1])
    is_target = _random_subset(candidates, n_targets, generator)

    residue = batch.tokens[..., tk.RESIDUE]
    amino_acid = residue - tk.FIRST_AMINO_ACID
    n_amino_acids = len(tk.AMINO_ACIDS)
    # Adding 1 to 19 modulo 20 never gives the same amino acid.
    steps = torch.randint(
        1, n_amino_acids, residue.shape, generator=generator, device=residue.device, dtype=residue.dtype
    )
    another = (amino_acid + steps) % n_amino_acids + tk.FIRST_AMINO_ACID
    draw = torch.rand(residue.shape, generator=generator, device=residue.device)
    shown = torch.where(draw < P_MASK, tk.MASK, torch.where(draw < P_MASK + P_REPLACE, another, residue))

    tokens = batch.tokens.clone()
    tokens[..., tk.RESIDUE] = torch.where(is_target, shown, residue)
    return PaddedTokens(tokens, batch.padding), torch.where(is_target, amino_acid, NO_TARGET)


def _dropped_chain(
    batch: PaddedTokens, loops: tuple[str, ...], probability: float, generator: torch.Generator
) -> Tensor:
    """Return True for the residues of the chain that a receptor loses, if any; shape (B, T)."""
    device = batch.tokens.device
    alpha_loops = torch.tensor([False, *(loop.endswith("a") for loop in loops)], device=device)
    residues = batch.residues
    alpha = residues & alpha_loops[batch.tokens[..., tk.LOOP]]
    beta = residues & ~alpha
    paired = alpha.any(1) & beta.any(1)  # (B,)
    draw = torch.rand(len(batch), generator=generator, device=device)
    loses_alpha = paired & (draw < probability / 2)
    loses_beta = paired & (draw >= probability / 2) & (draw < probability)
    return (alpha & loses_alpha[:, None]) | (beta & loses_beta[:, None])


def _share(counts: Tensor, fraction: float, most: int) -> Tensor:
    """Return ``fraction`` of each count, rounded up; counts are at most ``most``."""
    # From a table, because some devices lack float64. Rounded, because 0.07 · 100 is 7.000000000000001.
    shares = np.ceil(np.round(np.arange(most + 1) * fraction, 9)).astype(np.int64)
    return torch.from_numpy(shares).to(counts.device)[counts]


def _random_subset(candidates: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """Return True for ``sizes[i]`` random candidates of row ``i``, drawn uniformly; shape (B, T)."""
    draw = torch.rand(candidates.shape, generator=generator, device=candidates.device)
    rank = draw.masked_fill(~candidates, torch.inf).argsort(1).argsort(1)
    return rank < sizes[:, None]
