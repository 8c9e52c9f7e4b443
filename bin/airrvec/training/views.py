"""Random views of receptors for training: censoring and masking (paper, Methods, "SCEPTR Pre-training")."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from airrvec.model import tokens as tk

NO_TARGET = -100  # what torch's cross entropy ignores

P_MASK, P_REPLACE = 0.8, 0.1  # of a token that is a target; else it stays


@dataclass(frozen=True)
class PaddedTokens:
    """
    Tokens of a batch of receptors.

    Attributes
    ----------
    tokens : Tensor of int64, shape (B, T, 4)
        Residue, position, length and loop of each token (`airrvec.model.tokens`), ``<cls>`` first; zeros
        where there is none.
    padding : Tensor of bool, shape (B, T)
        True where there is no token.
    """

    tokens: Tensor
    padding: Tensor

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def residues(self) -> Tensor:
        """True where there is a residue, neither ``<cls>`` nor padding; shape (B, T)."""
        return ~self.padding & (self.tokens[..., tk.LOOP] > 0)

    def to(self, device: torch.device | str, **options) -> "PaddedTokens":
        """The same tokens on another device."""
        return PaddedTokens(self.tokens.to(device, **options), self.padding.to(device, **options))

    def repeated(self, times: int = 2) -> "PaddedTokens":
        """Each receptor ``times`` times in a row: (times · B, T, 4), so that rows 2i and 2i + 1 are one's."""
        return PaddedTokens(
            self.tokens.repeat_interleave(times, dim=0), self.padding.repeat_interleave(times, dim=0)
        )


def padded(tokens: tk.Tokens, rows: np.ndarray) -> PaddedTokens:
    """
    Tokens of some receptors as one batch.

    Parameters
    ----------
    tokens : Tokens
        The receptors.
    rows : ndarray of int, shape (B,)
        Which of them, in which order.

    Returns
    -------
    PaddedTokens
        T is the length of the longest of them.
    """
    starts = tokens.offsets[:-1][rows, None]  # (B, 1)
    lengths = tokens.lengths[rows, None]
    column = np.arange(lengths.max(initial=0))
    padding = column >= lengths  # (B, T)
    values = tokens.values[np.where(padding, 0, starts + column)].astype(np.int64)
    values[padding] = 0
    return PaddedTokens(torch.from_numpy(values), torch.from_numpy(padding))


def censored(
    batch: PaddedTokens,
    loops: tuple[str, ...],
    *,
    residues: float = 0.2,
    chain: float = 0.5,
    generator: torch.Generator,
) -> PaddedTokens:
    """
    One random view of each receptor (paper, Methods, "SCEPTR Pre-training", "Procedure").

    First, with probability ``chain``, a receptor of which both chains are seen loses one of them,
    either with equal odds; then it loses a random fixed share of the residues that it has left,
    rounded up, and never the last one. This order and rounding are those of the reference (tcrlm,
    ``ClBatchCollator``), which has no such guard for the last residue. What remains keeps the
    position, length and loop that it has in the whole receptor.

    Parameters
    ----------
    batch : PaddedTokens
        The receptors, unchanged by this.
    loops : tuple of str
        The loops that the model reads (``ModelConfig.loops``), whose names end in their chain.
    residues : float
        Share of residues to remove; 0 removes none.
    chain : float
        Probability of removing a chain; 0 removes none.
    generator : torch.Generator
        Source of all randomness, on the device of the tokens.

    Returns
    -------
    PaddedTokens, of shape (B, T', 4)
        The tokens left, in their order and without gaps; T' is the most that any receptor has left.
    """
    left = ~batch.padding
    if chain > 0:
        left = left & ~_of_dropped_chain(batch, loops, chain, generator)
    if residues > 0:
        candidates = left & batch.residues
        n_candidates = candidates.sum(1)
        n_removed = torch.minimum(_share(n_candidates, residues, left.shape[1]), n_candidates - 1)
        left = left & ~_random_subset(candidates, n_removed, generator)

    n_left = left.sum(1, keepdim=True)  # (B, 1)
    longest = int(n_left.max()) if len(n_left) else 0
    padding = torch.arange(longest, device=left.device) >= n_left  # (B, T')
    tokens = batch.tokens.new_zeros(*padding.shape, 4)
    tokens[~padding] = batch.tokens[left]
    return PaddedTokens(tokens, padding)


def masked(
    batch: PaddedTokens, *, fraction: float = 0.15, generator: torch.Generator
) -> tuple[PaddedTokens, Tensor]:
    """
    Receptors with some residues to be guessed (paper, Methods, "SCEPTR Pre-training", "Procedure").

    A random fixed share of each receptor's residues, rounded up, are targets: each is replaced by
    ``<mask>`` with probability 0.8, by another amino acid, any of the 19 with equal odds, with
    probability 0.1, and stays as it is with probability 0.1.

    Parameters
    ----------
    batch : PaddedTokens
        The receptors, unchanged by this.
    fraction : float
        Share of residues that are targets.
    generator : torch.Generator
        Source of all randomness, on the device of the tokens.

    Returns
    -------
    PaddedTokens
        The receptors, of the same shape; only residues of targets differ.
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
    # One to 19 steps round the circle of 20 never lead back to the start.
    steps = torch.randint(
        1, n_amino_acids, residue.shape, generator=generator, device=residue.device, dtype=residue.dtype
    )
    another = (amino_acid + steps) % n_amino_acids + tk.FIRST_AMINO_ACID
    fate = torch.rand(residue.shape, generator=generator, device=residue.device)
    shown = torch.where(fate < P_MASK, tk.MASK, torch.where(fate < P_MASK + P_REPLACE, another, residue))

    tokens = batch.tokens.clone()
    tokens[..., tk.RESIDUE] = torch.where(is_target, shown, residue)
    return PaddedTokens(tokens, batch.padding), torch.where(is_target, amino_acid, NO_TARGET)


def _of_dropped_chain(
    batch: PaddedTokens, loops: tuple[str, ...], probability: float, generator: torch.Generator
) -> Tensor:
    """True at the tokens of the chain that a receptor loses, if it does; shape (B, T)."""
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
    """``fraction`` of each of the counts, none above ``most``, rounded up."""
    # A table, as not every device has float64; rounded, as 0.07 · 100 is 7.000000000000001.
    shares = np.ceil(np.round(np.arange(most + 1) * fraction, 9)).astype(np.int64)
    return torch.from_numpy(shares).to(counts.device)[counts]


def _random_subset(candidates: Tensor, sizes: Tensor, generator: torch.Generator) -> Tensor:
    """True at ``sizes[i]`` random candidates of row ``i``, all subsets with equal odds; shape (B, T)."""
    draw = torch.rand(candidates.shape, generator=generator, device=candidates.device)
    rank = draw.masked_fill(~candidates, torch.inf).argsort(1).argsort(1)
    return rank < sizes[:, None]
