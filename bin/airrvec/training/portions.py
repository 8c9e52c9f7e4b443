"""Receptors that go through the model a portion at a time, as many as fit into memory."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from airrvec.training.views import NO_TARGET, PaddedTokens

# Receptors that go through the model at once: few enough for a core's cache, many enough for a GPU.
MICRO_BATCH = {"cpu": 128, "cuda": 4096}
LEAST_MICRO_BATCH = 16


class Portions:
    """
    How many receptors go through the model at once; fewer after memory has run out.

    Attributes
    ----------
    size : int or None
        Receptors; None until the device is known.
    recompute : bool
        Whether activations are computed once more for the gradients, instead of kept.
    """

    def __init__(self):
        self.size: int | None = None
        self.recompute = False

    def on(self, device: torch.device) -> None:
        """Take the size for a device, unless a checkpoint has given one."""
        self.size = self.size or MICRO_BATCH.get(device.type, MICRO_BATCH["cuda"])

    def save_memory(self) -> None:
        """
        Recompute activations; where that is done already, halve the portions.

        Raises
        ------
        torch.OutOfMemoryError
            If portions are as small as they may be.
        """
        if self.recompute and self.size <= LEAST_MICRO_BATCH:
            raise torch.OutOfMemoryError(f"{self.size} receptors at a time do not fit into memory")
        if self.recompute:
            self.size //= 2
        self.recompute = True
        torch.cuda.empty_cache()

    def vectors(self, batch: PaddedTokens, function: Callable[[PaddedTokens], Tensor]) -> Tensor:
        """Apply a function of receptors to receptors of like length at a time; shape (B, d)."""
        rows, results = zip(
            *((rows, self._computed(function, part)) for rows, part in self._divided(batch)), strict=True
        )
        return torch.cat(results)[torch.cat(rows).argsort()]

    def guesses(self, encoder, shown: PaddedTokens, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logits at the targets, and the targets, in one order."""
        parts = []
        for rows, part in self._divided(shown):
            of_part = targets[rows, : part.tokens.shape[1]]
            where = of_part != NO_TARGET
            logits = self._computed(lambda p, w=where: encoder.guess_residues(p.tokens, p.padding, w), part)
            parts.append((logits, of_part[where]))
        return tuple(torch.cat(values) for values in zip(*parts, strict=True))

    def _divided(self, batch: PaddedTokens) -> Iterator[tuple[Tensor, PaddedTokens]]:
        """Row numbers and receptors, at most `size` at a time, by length, so that little is padded."""
        lengths = (~batch.padding).sum(1)
        for rows in lengths.argsort(stable=True).split(self.size):
            longest = int(lengths[rows].max())
            yield rows, PaddedTokens(batch.tokens[rows, :longest], batch.padding[rows, :longest])

    def _computed(self, function: Callable, part: PaddedTokens) -> Tensor:
        if self.recompute and torch.is_grad_enabled():
            return checkpoint(function, part, use_reentrant=False)
        return function(part)
