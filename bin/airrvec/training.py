"""
The training loop: batches, losses, checkpoints (paper, Methods, "Procedure" of both trainings).

Whatever is random in a step, batch, views, masks and dropout, is drawn from generators seeded by the
run's seed and the number of the step. So a run that resumes from a checkpoint ends as one that was never
disturbed, and devices that share a batch agree on it without a word.
"""

import hashlib
import json
import logging
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import lightning as L
import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

from airrvec import objectives, schema, tables
from airrvec.augment import NO_TARGET, PaddedTokens, censored, masked, padded
from airrvec.errors import InputError
from airrvec.model import ReceptorEncoder
from airrvec.presets import Objective, Schedule
from airrvec.tokens import Tokens

# Receptors that go through the model at once: few enough for a core's cache, many enough for a GPU.
MICRO_BATCH = {"cpu": 128, "cuda": 4096}
LEAST_MICRO_BATCH = 16
# Our names → Lightning's; bf16 is mixed: weights and losses stay float32.
PRECISIONS = {"float32": "32-true", "bf16": "bf16-mixed"}
LABELLED = {
    "supervised": objectives.supervised_contrastive_loss,
    "neighbour": objectives.neighbour_loss,
}


@dataclass(frozen=True)
class Receptors:
    """
    Receptors to train or validate on.

    Attributes
    ----------
    tokens : Tokens
        All of them.
    labels : ndarray of int, shape (n,), optional
        Number of each one's label; batches are balanced over the labels.
    """

    tokens: Tokens
    labels: np.ndarray | None = None

    def rows(self, step: int, batch_size: int, seed: int) -> np.ndarray:
        """
        The receptors of a step, counted from 0; sorted by nothing.

        Without labels every receptor comes once before any comes again. With labels this holds for
        the receptors of each label, and each has as many places in the batch.
        """
        if self.labels is None:
            return _cycled(np.arange(len(self.tokens)), step, batch_size, seed)
        size = max(batch_size // len(self._groups), 1)
        return np.concatenate([_cycled(g, step, size, seed + 1 + n) for n, g in enumerate(self._groups)])

    @cached_property
    def _groups(self) -> list[np.ndarray]:
        return [np.flatnonzero(self.labels == label) for label in np.unique(self.labels)]


def _cycled(rows: np.ndarray, step: int, size: int, seed: int) -> np.ndarray:
    """Places ``step · size`` and on of an endless row of random orders of all ``rows``."""
    cycles, within = np.divmod(np.arange(step * size, (step + 1) * size), len(rows))
    parts = [_order(len(rows), seed, cycle)[within[cycles == cycle]] for cycle in np.unique(cycles).tolist()]
    return rows[np.concatenate(parts)]


@lru_cache(maxsize=64)
def _order(n: int, seed: int, cycle: int) -> np.ndarray:
    return np.random.default_rng([seed, cycle]).permutation(n)


@dataclass(frozen=True)
class Trained:
    """
    What training leaves.

    Attributes
    ----------
    encoder : ReceptorEncoder
        The best by validation loss, else the last; on the CPU, in evaluation mode.
    history : pyarrow.Table
        `airrvec.schema.TRAINING`.
    step : int
        The step that ``encoder`` comes from.
    notes : list of str
        What the user should know.
    """

    encoder: ReceptorEncoder
    history: pa.Table
    step: int
    notes: list[str]


def train(
    encoder: ReceptorEncoder,
    receptors: Receptors,
    validation: Receptors | None,
    objective: Objective,
    schedule: Schedule,
    *,
    seed: int,
    folder: Path,
    fingerprint: str = "",
    trainable: Callable[[str], bool] = lambda name: True,
    checkpoint_every: int = 500,
    device: str = "auto",
    devices: int = 1,
    nodes: int = 1,
    precision: str = "float32",
    progress: Callable[[int], None] | None = None,
) -> Trained:
    """
    Train a model, or go on where a run with the same folder stopped.

    Parameters
    ----------
    encoder : ReceptorEncoder
        The start; it is changed.
    receptors, validation : Receptors
        What to learn from, and what to measure progress on.
    objective, schedule
        `airrvec.presets`.
    seed : int
        Of all randomness.
    folder : Path
        For checkpoints, and the log as CSV.
    fingerprint : str
        Of all that training follows from. A checkpoint with another one is of another training, and
        is left alone until the first of this one replaces it.
    trainable : callable
        Tells by its name whether a parameter is trained.
    checkpoint_every : int
        Steps between two checkpoints.
    device : str
        Lightning's accelerator: ``cpu``, ``gpu``, ``auto``.
    devices, nodes : int
        Processes that share each batch (DDP, with gathered vectors). Lightning starts the same script
        in each; only the first returns from here, the others end.
    precision : str
        One of `PRECISIONS`.
    progress : callable, optional
        Called with the number of steps done since the last call.

    Raises
    ------
    InputError
        If the loss is not a number; the last good checkpoint is kept.
    """
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad = trainable(name)
    loop = _Loop(encoder, receptors, validation, objective, schedule, seed, progress)
    checkpoints = _Checkpoints(folder, checkpoint_every, fingerprint)
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", module="lightning")
    trainer = L.Trainer(
        accelerator=device,
        devices=devices,
        num_nodes=nodes,
        strategy="ddp_find_unused_parameters_true" if devices * nodes > 1 else "auto",
        precision=PRECISIONS[precision],
        max_steps=schedule.steps,
        callbacks=[checkpoints],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        deterministic=device == "cpu",
        use_distributed_sampler=False,
        num_sanity_val_steps=0,
        default_root_dir=folder,
    )
    trainer.fit(loop, ckpt_path=checkpoints.last(), weights_only=True)
    if not trainer.is_global_zero:
        raise SystemExit(0)
    if loop.best is not None:
        encoder.load_state_dict(loop.best)
    return Trained(encoder.cpu().eval(), loop.history(), loop.best_step, loop.notes)


def fingerprint(**facts) -> str:
    """SHA-256 of what training follows from: facts that JSON can hold, and the code that trains."""
    names = ("_dropout_kernel", "augment", "dropout", "model", "objectives", "tokens", "training")
    code = [Path(__file__).with_name(f"{name}.py").read_text() for name in names]
    return hashlib.sha256(json.dumps([facts, code]).encode()).hexdigest()


class _Loop(L.LightningModule):
    """Lightning's view of training; it counts the steps, and the batches follow from their numbers."""

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
        self.micro_batch = None
        self.recompute = False
        self.started = time.monotonic()

    # --- Lightning's hooks

    def train_dataloader(self):
        return DataLoader(range(self.schedule.steps), batch_size=None)

    def configure_optimizers(self):
        parameters = [parameter for parameter in self.encoder.parameters() if parameter.requires_grad]
        return torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), eps=1e-9)

    def on_train_start(self):
        self.micro_batch = self.micro_batch or MICRO_BATCH.get(self.device.type, MICRO_BATCH["cuda"])
        self.progress(self.global_step)
        if self.global_step == 0:
            self._validate()

    def training_step(self, *_):
        step = self.global_step
        optimiser = self.optimizers()
        rate = self.schedule.rate(step + 1)
        for group in optimiser.param_groups:
            group["lr"] = rate
        terms = self._backward(step, optimiser)
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

    def on_save_checkpoint(self, saved):
        names = ("rows", "best", "best_loss", "best_step", "looks_without_progress", "notes", "micro_batch")
        saved["loop"] = {name: getattr(self, name) for name in (*names, "recompute")}

    def on_load_checkpoint(self, saved):
        for name, value in saved["loop"].items():
            setattr(self, name, value)
        spent = self.rows[-1]["seconds"] if self.rows else 0
        self.started = time.monotonic() - spent

    # --- One step

    def _backward(self, step: int, optimiser) -> dict[str, float]:
        """Gradients of a step; where memory runs out, the same in smaller portions."""
        while True:
            try:
                optimiser.zero_grad()
                loss, terms = self._losses(self.receptors, step, training=True)
                self.manual_backward(loss)
                return terms
            except torch.OutOfMemoryError:
                self._save_memory(step)

    def _save_memory(self, step: int) -> None:
        if self.recompute and self.micro_batch <= LEAST_MICRO_BATCH:
            raise
        if self.recompute:
            self.micro_batch //= 2
        self.recompute = True
        torch.cuda.empty_cache()
        self.notes.append(
            f"memory ran out at step {step + 1}: from there on {self.micro_batch} receptors at a time, and"
            " their activations computed twice; the losses are the same"
        )
        logging.getLogger(__name__).warning(self.notes[-1])

    def _losses(self, receptors: Receptors, step: int, *, training: bool) -> tuple[Tensor, dict[str, float]]:
        """Loss of this device's share of a batch, times the number of devices, and its terms."""
        objective = self.objective
        numbers = receptors.rows(step, self.schedule.batch_size, self.seed)
        generator = torch.Generator(self.device).manual_seed(_mixed(self.seed, step, int(training)))
        torch.manual_seed(_mixed(self.seed, step, 2 + self.global_rank))  # dropout
        numbers = numbers[: len(numbers) - len(numbers) % self.trainer.world_size]
        batch = padded(receptors.tokens, numbers).to(self.device)
        own = _share(len(batch), self.global_rank, self.trainer.world_size)
        terms: dict[str, Tensor] = {}
        loops = self.encoder.config.loops
        if objective.contrastive:
            views = censored(
                batch.repeated(2),
                loops,
                residues=objective.censored_residues,
                chain=objective.dropped_chains,
                generator=generator,
            )
            own_views = _rows(views, slice(2 * own.start, 2 * own.stop))
            vectors = self._in_portions(own_views, lambda part: self.encoder(part.tokens, part.padding))
            vectors = self._gathered(vectors.unflatten(0, (-1, 2)))  # (N, 2, d)
            if objective.contrastive == "auto":
                loss = objectives.autocontrastive_loss(vectors, objective.temperature, own)
            else:
                labels = torch.from_numpy(receptors.labels[numbers]).to(self.device)
                loss = LABELLED[objective.contrastive](vectors, labels, objective.temperature, own)
            terms["contrastive_loss"] = loss * self.trainer.world_size
            with torch.no_grad():
                terms["alignment"] = objectives.alignment(vectors[:, 0], vectors[:, 1])
                terms["uniformity"] = objectives.uniformity(vectors[:, 0])
        if objective.masked_language:
            shown, targets = masked(batch, fraction=objective.masked_residues, generator=generator)
            n_targets = (targets != NO_TARGET).sum()
            targets = targets[own]
            logits, order = self._guesses(_rows(shown, own), targets)
            loss = objectives.masked_language_loss(logits, order, objective.label_smoothing)
            # Each device's mean counts by its number of targets.
            terms["mlm_loss"] = loss * (len(order) * self.trainer.world_size / n_targets)
        total = sum(terms[name] for name in ("contrastive_loss", "mlm_loss") if name in terms)
        means = {name: self._mean(value.detach()) for name, value in {"loss": total, **terms}.items()}
        return total, means

    def _guesses(self, shown: PaddedTokens, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Logits at the targets, and the targets, in one order."""
        parts = []
        for rows, part in _portions(shown, self.micro_batch):
            of_part = targets[rows, : part.tokens.shape[1]]
            where = of_part != NO_TARGET
            logits = self._computed(
                lambda p, w=where: self.encoder.guess_residues(p.tokens, p.padding, w), part
            )
            parts.append((logits, of_part[where]))
        return tuple(torch.cat(values) for values in zip(*parts, strict=True))

    def _in_portions(self, batch: PaddedTokens, function: Callable) -> Tensor:
        """A function of receptors, applied to receptors of like length at a time; (B, d)."""
        rows, results = zip(
            *((rows, self._computed(function, part)) for rows, part in _portions(batch, self.micro_batch)),
            strict=True,
        )
        return torch.cat(results)[torch.cat(rows).argsort()]

    def _computed(self, function: Callable, part: PaddedTokens) -> Tensor:
        if self.recompute and torch.is_grad_enabled():
            return checkpoint(function, part, use_reentrant=False)
        return function(part)

    def _gathered(self, own: Tensor) -> Tensor:
        if self.trainer.world_size == 1:
            return own
        parts = torch.distributed.nn.functional.all_gather(own)
        return torch.cat(parts)

    def _mean(self, value: Tensor) -> float:
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(value)
        return (value / self.trainer.world_size).item()

    # --- Validation

    @torch.no_grad()
    def _validate(self) -> None:
        if self.validation is None:
            self._keep(None)
            return
        self.encoder.eval()
        # The same batches and views at every look.
        n_batches = min(max(len(self.validation.tokens) // self.schedule.batch_size, 1), 8)
        looks = [self._losses(self.validation, number, training=False)[1] for number in range(n_batches)]
        self.encoder.train()
        terms = {name: sum(look[name] for look in looks) / n_batches for name in looks[0]}
        self._log("validation", self.global_step, terms)
        self._keep(terms.get("contrastive_loss", terms["loss"]))

    def _keep(self, loss: float | None) -> None:
        """Keep the weights if they are the best so far, and stop where patience is at its end."""
        patience = self.schedule.patience
        if patience is None or loss is None:
            self.best_step = self.global_step  # the last counts
            return
        if loss < self.best_loss:
            state = self.encoder.state_dict()
            self.best = {name: value.detach().cpu().clone() for name, value in state.items()}
            self.best_loss, self.best_step, self.looks_without_progress = loss, self.global_step, 0
            return
        self.looks_without_progress += 1
        if self.looks_without_progress >= patience:
            self.notes.append(
                f"stopped at step {self.global_step}: the validation loss was least at step {self.best_step}"
            )
            self.trainer.should_stop = True

    # --- The log

    def _log(self, part: str, step: int, terms: dict[str, float]) -> None:
        seconds = time.monotonic() - self.started
        self.rows.append({"step": step, "part": part, "seconds": seconds, **terms})

    def history(self) -> pa.Table:
        """All steps; `airrvec.schema.TRAINING`."""
        return pa.Table.from_pylist(self.rows, schema.TRAINING)


class _Checkpoints(L.Callback):
    """The state of training every so many steps, written to a temporary name and renamed."""

    def __init__(self, folder: Path, every: int, fingerprint: str):
        self.folder, self.every, self.fingerprint = Path(folder), every, fingerprint

    @property
    def path(self) -> Path:
        return self.folder / "last.ckpt"

    def last(self) -> Path | None:
        """The checkpoint to go on from."""
        if not self.path.exists():
            return None
        saved = torch.load(self.path, map_location="cpu", weights_only=True)
        if saved.get("fingerprint") == self.fingerprint:
            return self.path
        logging.getLogger(__name__).warning(
            "%s is of other data or settings: training starts anew", self.path
        )
        return None

    def on_save_checkpoint(self, trainer, loop, saved):
        saved["fingerprint"] = self.fingerprint

    def on_train_batch_end(self, trainer, loop, *_):
        if trainer.global_step % self.every == 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(".part")
            trainer.save_checkpoint(temporary)
            if trainer.is_global_zero:
                temporary.replace(self.path)
                tables.write_tsv(loop.history(), self.folder / "log.tsv")


def _portions(batch: PaddedTokens, size: int):
    """Row numbers and receptors, at most ``size`` at a time, by length, so that little is padded."""
    lengths = (~batch.padding).sum(1)
    for rows in lengths.argsort(stable=True).split(size):
        longest = int(lengths[rows].max())
        yield rows, PaddedTokens(batch.tokens[rows, :longest], batch.padding[rows, :longest])


def _rows(batch: PaddedTokens, rows: slice) -> PaddedTokens:
    return PaddedTokens(batch.tokens[rows], batch.padding[rows])


def _share(n: int, rank: int, world_size: int) -> slice:
    """The receptors of a batch that are one device's."""
    bounds = [n * number // world_size for number in range(world_size + 1)]
    return slice(bounds[rank], bounds[rank + 1])


def _mixed(*numbers: int) -> int:
    """One seed of 63 bits from several numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))
