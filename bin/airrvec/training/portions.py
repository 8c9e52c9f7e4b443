"""Portions of a batch (micro-batches): receptors that go through the model at once."""

from collections.abc import Callable, Iterator

from airrvec.training.views import NO_TARGET, PaddedTokens

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

# Largest portion, in receptors: fits into the cache of a CPU core, and is large enough for a GPU.
MICRO_BATCH = {"cpu": 128, "cuda": 4096}
LEAST_MICRO_BATCH = 16


class Portions:
    """
    Size of the portions of a batch; it decreases when memory runs out.

    Attributes
    ----------
    size : int or None
        Largest number of receptors in a portion; None until the device is known.
    recompute : bool
        Whether the backward pass recomputes activations instead of keeping them.
    """

    def __init__(self):
        self.size: int | None = None
        self.recompute = False

    def on(self, device: torch.device) -> None:
        """Set the size for a device, unless a checkpoint has set one."""
        self.size = self.size or MICRO_BATCH.get(device.type, MICRO_BATCH["cuda"])

    def save_memory(self) -> None:
        """
        Recompute activations; if they are recomputed already, halve the portions.

        Raises
        ------
        torch.OutOfMemoryError
            If portions already have at most `LEAST_MICRO_BATCH` receptors.
        """
        if self.recompute and self.size <= LEAST_MICRO_BATCH:
            raise torch.OutOfMemoryError(f"{self.size} receptors at a time do not fit into memory")
        if self.recompute:
            self.size //= 2
        self.recompute = True
        torch.cuda.empty_cache()

    def vectors(self, batch: PaddedTokens, function: Callable[[PaddedTokens], Tensor]) -> Tensor:
        """Return the vectors, shape (B, d), that a function computes from receptors, portion by portion."""
        rows, results = zip(
            *((rows, self._computed(function, part)) for rows, part in self._divided(batch)), strict=True
        )
        return torch.cat(results)[torch.cat(rows).argsort()]

    def guesses(self, encoder, shown: PaddedTokens, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits at the targets and the targets, both in the same order."""
        parts = []
        for rows, part in self._divided(shown):
            part_targets = targets[rows, : part.tokens.shape[1]]
            where = part_targets != NO_TARGET
            logits = self._computed(lambda p, w=where: encoder.guess_residues(p.tokens, p.padding, w), part)
            parts.append((logits, part_targets[where]))
        return tuple(torch.cat(values) for values in zip(*parts, strict=True))

    def _divided(self, batch: PaddedTokens) -> Iterator[tuple[Tensor, PaddedTokens]]:
        """Yield row numbers and receptors of each portion, sorted by length to minimise padding."""
        lengths = (~batch.padding).sum(1)
        for rows in lengths.argsort(stable=True).split(self.size):
            longest = int(lengths[rows].max())
            yield rows, PaddedTokens(batch.tokens[rows, :longest], batch.padding[rows, :longest])

    def _computed(self, function: Callable, part: PaddedTokens) -> Tensor:
        if self.recompute and torch.is_grad_enabled():
            return checkpoint(function, part, use_reentrant=False)
        return function(part)
