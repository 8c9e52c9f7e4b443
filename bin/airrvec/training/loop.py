"""
The steps of training: batches, losses, gradients, validation and the log.

Devices that share a batch communicate: all make the same calls in the same order. Between two calls each
device computes independently, and its memory may run out. One device must not repeat a call that the others
do not repeat. `attempt` therefore reports the failure to all devices, so that they repeat the step together.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.seeds import derived_seed
from airrvec.core.terminal import counted
from airrvec.training import losses
from airrvec.training.data import NO_TARGET, PaddedTokens, Receptors, censor, mask, pad
from airrvec.training.optimisers import OPTIMISERS

import lightning as L
import numpy as np
import pyarrow as pa
import torch
import torch.distributed as dist
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader


def attempt(function: Callable, device: torch.device) -> tuple[bool, Any]:
    """
    Call a function that does not communicate, and share whether memory was sufficient.

    Returns
    -------
    bool
        Whether memory was sufficient on all devices.
    object
        Return value of the function; None if memory was insufficient on any device.
    """
    failed = torch.zeros((), device=device)
    result = None
    try:
        result = function()
    except torch.OutOfMemoryError:
        failed += 1
    if _is_shared():
        dist.all_reduce(failed, dist.ReduceOp.MAX)
    return (True, result) if failed == 0 else (False, None)


def gather(own: Tensor) -> Tensor:
    """Return the rows of all devices, without gradients; each device has the same number of rows."""
    own = own.detach().contiguous()
    if not _is_shared():
        return own
    parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, own)
    return torch.cat(parts)


def sum_over_devices(values: Tensor) -> Tensor:
    """Sum values over devices, in place, and return them."""
    if _is_shared():
        dist.all_reduce(values)
    return values


def average_gradients(parameters: list[torch.nn.Parameter]) -> None:
    """Replace each gradient by its mean over devices; a missing gradient counts as zero."""
    if not _is_shared():
        return
    gradients = []
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        gradients.append(parameter.grad)
    joined = sum_over_devices(torch.cat([gradient.flatten() for gradient in gradients]))
    joined /= dist.get_world_size()
    sizes = [parameter.numel() for parameter in parameters]
    for gradient, values in zip(gradients, joined.split(sizes), strict=True):
        gradient.copy_(values.view_as(gradient))


def _is_shared() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


# --- Portions of a batch (micro-batches): receptors that go through the model at once

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
            masked = part_targets != NO_TARGET
            logits = self._computed(lambda p, w=masked: encoder.guess_residues(p.tokens, p.padding, w), part)
            parts.append((logits, part_targets[masked]))
        all_logits, all_targets = zip(*parts, strict=True)
        return torch.cat(all_logits), torch.cat(all_targets)

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


# --- The loop

# Attributes saved in a checkpoint, in addition to weights and optimiser.
SAVED = ("rows", "best", "best_loss", "best_step", "looks_without_progress", "notes")


class Loop(L.LightningModule):
    """Lightning module of training; the step number determines the batch."""

    def __init__(self, encoder, receptors, validation, objective, schedule, seed, progress):
        super().__init__()
        self.automatic_optimization = False
        self.encoder = encoder
        self.receptors, self.validation = receptors, validation
        self.objective, self.schedule, self.seed = objective, schedule, seed
        self.progress = progress or (lambda n: None)
        self.rows: list[dict] = []
        self.best, self.best_loss, self.best_step = None, math.inf, 0
        self.looks_without_progress = 0
        self.notes: list[str] = []
        self.portions = Portions()
        self.started = time.monotonic()

    # --- Lightning's hooks

    def train_dataloader(self):
        steps = range(self.schedule.steps)
        return DataLoader(steps, batch_size=None)  # type: ignore[arg-type]  # any sequence serves

    def configure_optimizers(self):
        parameters = [parameter for parameter in self.encoder.parameters() if parameter.requires_grad]
        return OPTIMISERS[self.schedule.optimiser](parameters, self.schedule)

    def on_train_start(self):
        self.portions.on(self.device)
        self.progress(self.global_step)
        if self.global_step == 0:
            self._validate()

    def _optimiser(self) -> Any:  # Lightning types it as one or several
        return self.optimizers()

    def training_step(self, *_):
        step = self.global_step
        optimiser = self._optimiser()
        rate = self.schedule.rate(step + 1)
        for group in optimiser.param_groups:
            group["lr"] = rate
        terms = self._terms(self.receptors, step, training=True)
        if not math.isfinite(terms["loss"]):
            raise InputError(
                f"the loss is not a number at step {step + 1}; the last good checkpoint is kept in"
                f" {self.trainer.default_root_dir}",
                fix="Lower the learning rate of the preset, or lengthen its warm-up",
            )
        if self.schedule.clip is not None:
            self.clip_gradients(optimiser, gradient_clip_val=self.schedule.clip)
        optimiser.step()
        self._log("train", step + 1, {**terms, "learning_rate": rate})
        self.progress(1)
        if (step + 1) % self.schedule.validate_every == 0 or step + 1 == self.schedule.steps:
            self._validate()
        return {name: torch.tensor(value) for name, value in terms.items()}  # to callbacks, as outputs

    def on_save_checkpoint(self, saved):
        saved["loop"] = {name: getattr(self, name) for name in SAVED}
        saved["portions"] = vars(self.portions)

    def on_load_checkpoint(self, saved):
        for name, value in saved["loop"].items():
            setattr(self, name, value)
        vars(self.portions).update(saved["portions"])
        spent = self.rows[-1]["seconds"] if self.rows else 0
        self.started = time.monotonic() - spent

    # --- One step

    def _terms(self, receptors: Receptors, step: int, *, training: bool) -> dict[str, float]:
        """
        Return the loss of a batch and its terms; in training, also compute the gradients.

        If memory runs out on any device, all devices repeat the step with `Portions.save_memory`.
        """
        while True:
            if training:
                self._optimiser().zero_grad()
            terms = self._attempt(receptors, step, training=training)
            if terms is not None:
                return terms
            self._save_memory(step)

    def _save_memory(self, step: int) -> None:
        self.portions.save_memory()
        assert self.portions.size is not None
        n = counted(self.portions.size, "receptor is", "receptors are")
        self.notes.append(
            f"memory ran out at step {step + 1}: from then on {n} processed at a time and activations are"
            " computed twice; the losses do not change"
        )
        logging.getLogger(__name__).warning(self.notes[-1])

    def _attempt(self, receptors: Receptors, step: int, *, training: bool) -> dict[str, float] | None:
        """
        Return the terms of a batch and compute its gradients; None on all devices if one is out of memory.

        Each device computes the vectors of its own receptors, gathers those of all devices, and computes the
        loss of its own receptors against all. The gradients with respect to all vectors are summed over the
        devices. Each device then backpropagates the gradients of its own vectors to the parameters.
        """
        numbers = self._batch(receptors, step, training)
        own = _share(len(numbers), self.global_rank, self.trainer.world_size)
        fits, outputs = attempt(lambda: self._forward(receptors, numbers, own, step, training), self.device)
        if not fits:
            return None
        vectors, masked_language = outputs
        terms, vector_gradients = {}, None
        if vectors is not None:
            all_vectors = gather(vectors).requires_grad_(training)
            fits, contrastive = attempt(
                lambda: self._contrastive(all_vectors, receptors, numbers, own), self.device
            )
            if not fits:
                return None
            terms |= contrastive
            if training:
                assert all_vectors.grad is not None
                vector_gradients = sum_over_devices(all_vectors.grad)[own]
        if masked_language is not None:
            terms["mlm_loss"] = masked_language
        if training:
            parts = [(vectors, vector_gradients), (masked_language, None)]
            differentiable = [part for part in parts if part[0] is not None and part[0].requires_grad]
            fits, _ = attempt(
                lambda: torch.autograd.backward(
                    [values for values, _ in differentiable], [gradients for _, gradients in differentiable]
                ),
                self.device,
            )
            if not fits:
                return None
            average_gradients([p for p in self.encoder.parameters() if p.requires_grad])
        losses = [terms[name] for name in ("contrastive_loss", "mlm_loss") if name in terms]
        own_terms = {"loss": sum(value.detach() for value in losses), **terms}
        means = torch.stack([value.detach().float() for value in own_terms.values()])
        means = sum_over_devices(means) / self.trainer.world_size
        return dict(zip(own_terms, means.tolist(), strict=True))

    def _forward(
        self, receptors: Receptors, numbers: np.ndarray, own: slice, step: int, training: bool
    ) -> tuple[Tensor | None, Tensor | None]:
        """Return this device's vectors, (n, 2, d), and its part of the masked-language loss."""
        objective = self.objective
        generator = torch.Generator(self.device).manual_seed(derived_seed(self.seed, step, int(training)))
        torch.manual_seed(derived_seed(self.seed, step, 2 + self.global_rank))  # dropout
        batch = pad(receptors.tokens, numbers).to(self.device)
        vectors = loss = None
        if objective.contrastive:
            views = censor(
                batch.repeated(2),
                self.encoder.config.loops,
                residues=objective.censored_residues,
                chain=objective.dropped_chains,
                generator=generator,
            )
            own_views = _rows(views, slice(2 * own.start, 2 * own.stop))
            vectors = self.portions.vectors(own_views, lambda part: self.encoder(part.tokens, part.padding))
            vectors = vectors.unflatten(0, (-1, 2))
        if objective.masked_language:
            shown, targets = mask(batch, fraction=objective.masked_residues, generator=generator)
            n_targets = (targets != NO_TARGET).sum()
            logits, own_targets = self.portions.guesses(self.encoder, _rows(shown, own), targets[own])
            loss = losses.masked_language_loss(logits, own_targets, objective.label_smoothing)
            # The mean of each device is weighted by its number of targets.
            loss = loss * (len(own_targets) * self.trainer.world_size / n_targets)
        return vectors, loss

    def _contrastive(
        self, vectors: Tensor, receptors: Receptors, numbers: np.ndarray, own: slice
    ) -> dict[str, Tensor]:
        """Return the contrastive terms of this device's receptors against the whole batch; set gradients."""
        objective = self.objective
        # Every device has the tokens of the whole batch, so only vectors need to be gathered.
        copies = self._batch_tensor(receptors.contents, numbers)
        labels = {}
        if objective.loss.needs_labels:
            labels = {
                name: self._batch_tensor(getattr(receptors, name), numbers)
                for name in ("labels", "known_labels")
            }
        loss = objective.loss.function(
            vectors, temperature=objective.temperature, anchors=own, receptors=copies, **labels
        )
        loss = loss * self.trainer.world_size
        if vectors.requires_grad:
            loss.backward()
        with torch.no_grad():
            terms = {"contrastive_loss": loss, "alignment": losses.alignment(vectors[:, 0], vectors[:, 1])}
            if (receptors.contents[numbers] != receptors.contents[numbers[0]]).any():
                terms["uniformity"] = losses.uniformity(vectors[:, 0], receptors=copies)
        return terms

    def _batch(self, receptors: Receptors, step: int, training: bool) -> np.ndarray:
        """Return the rows of a batch, a multiple of the number of devices; equal on all devices."""
        numbers = receptors.rows(step, self.schedule.batch_size, self.seed, distinct=not training)
        n_devices = self.trainer.world_size
        if len(numbers) < n_devices:
            return np.resize(numbers, n_devices)  # repeats rows; losses do not compare copies
        return numbers[: len(numbers) - len(numbers) % n_devices]

    def _batch_tensor(self, values: np.ndarray, numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(values[numbers]).to(self.device)

    # --- Validation

    @torch.no_grad()
    def _validate(self) -> None:
        if self.validation is None:
            self._keep(None)
            return
        self.encoder.eval()
        # Every validation uses the same batches and views.
        batches = [self._terms(self.validation, number, training=False) for number in range(self._n_batches)]
        self.encoder.train()
        names = dict.fromkeys(name for batch in batches for name in batch)
        terms = {name: float(np.mean([batch[name] for batch in batches if name in batch])) for name in names}
        self._log("validation", self.global_step, terms)
        self._keep(terms.get("contrastive_loss", terms["loss"]) if self._comparable else None)
        note = "the validation receptors are too few or too similar to select weights: the last ones are kept"
        if not self._comparable and note not in self.notes:
            self.notes.append(note)

    @property
    def _n_batches(self) -> int:
        """Number of batches of a validation."""
        return min(max(len(self.validation.tokens) // self.schedule.batch_size, 1), 8)

    @cached_property
    def _comparable(self) -> bool:
        """Whether the validation loss depends on the model."""
        batches = (self._batch(self.validation, number, training=False) for number in range(self._n_batches))
        return any(self.validation.comparable(rows, self.objective.loss) for rows in batches)

    def _keep(self, loss: float | None) -> None:
        """Keep the weights if their loss is the lowest so far; stop when patience is exhausted."""
        patience = self.schedule.patience
        if patience is None or loss is None:
            self.best_step = self.global_step  # the last weights are used
            return
        if loss < self.best_loss:
            state = self.encoder.state_dict()
            self.best = {name: value.detach().cpu().clone() for name, value in state.items()}
            self.best_loss, self.best_step, self.looks_without_progress = loss, self.global_step, 0
            return
        self.looks_without_progress += 1
        if self.looks_without_progress >= patience:
            self.notes.append(
                f"stopped at step {self.global_step}: the validation loss was lowest at step {self.best_step}"
            )
            self.trainer.should_stop = True

    # --- The log

    def _log(self, part: str, step: int, terms: dict[str, float]) -> None:
        seconds = time.monotonic() - self.started
        self.rows.append({"step": step, "part": part, "seconds": seconds, **terms})
        for logger in self.trainer.loggers:
            logger.log_metrics({f"{part}/{name}": value for name, value in terms.items()}, step)

    def history(self) -> pa.Table:
        """Return the log of all steps; `airrvec.core.schema.TRAINING`."""
        return pa.Table.from_pylist(self.rows, schema.TRAINING)

    def times(self) -> pa.Table:
        """Return the time of each row of `history`; `airrvec.core.schema.TRAINING_TIMES`."""
        return pa.Table.from_pylist(self.rows, schema.TRAINING_TIMES)


def _rows(batch: PaddedTokens, rows: slice) -> PaddedTokens:
    return PaddedTokens(batch.tokens[rows], batch.padding[rows])


def _share(n: int, rank: int, world_size: int) -> slice:
    """Return the slice of a batch of ``n`` receptors that one device computes."""
    bounds = [n * number // world_size for number in range(world_size + 1)]
    return slice(bounds[rank], bounds[rank + 1])
