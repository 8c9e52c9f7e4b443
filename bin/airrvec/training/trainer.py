"""
Training of a model (paper, Methods, "Procedure" of pre-training and of fine-tuning).

The batch, views, masks and dropout of a step are drawn from generators seeded by the run's seed and the step
number. A run that resumes from a checkpoint therefore gives the same result as an uninterrupted run, and
devices that share a batch draw the same random numbers without communicating.
"""

import hashlib
import json
import logging
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from airrvec.core import tables
from airrvec.core.errors import InputError
from airrvec.core.records import DamagedError, check, seal
from airrvec.core.terminal import counted
from airrvec.model.transformer import ReceptorEncoder
from airrvec.training import loggers
from airrvec.training.data import Receptors
from airrvec.training.loop import Loop
from airrvec.training.presets import CHECKPOINT_EVERY, Objective, Schedule

import lightning as L
import numpy as np
import pyarrow as pa
import torch
from lightning.pytorch.loggers import Logger

ABANDONED = 3600  # seconds after which a temporary file that nobody writes to is one of a killed process


class Checkpoints(L.Callback):
    """Write the state of training every ``every`` steps, to a temporary name that is then renamed."""

    def __init__(self, folder: Path, every: int, fingerprint: str):
        self.folder, self.every, self.fingerprint = Path(folder), every, fingerprint

    @property
    def path(self) -> Path:
        return self.folder / "last.ckpt"

    @property
    def previous(self) -> Path:
        return self.folder / "previous.ckpt"

    def last(self) -> Path | None:
        """
        Return the checkpoint to resume from; None if there is none of this training.

        Damaged files are renamed, so that no later start reads them again.
        """
        self._remove_abandoned()
        warnings = []
        checkpoint = next((path for path in (self.path, self.previous) if self._usable(path, warnings)), None)
        start = f"training resumes from {checkpoint}" if checkpoint else "training starts from step 0"
        for warning in warnings:
            logging.getLogger(__name__).warning("%s: %s", warning, start)
        return checkpoint

    def _usable(self, path: Path, warnings: list[str]) -> bool:
        """Return whether training can resume from a file; if not, add the reason to ``warnings``."""
        try:
            saved = read(path)
        except FileNotFoundError:  # also where another process of this training has just renamed it
            return False
        except DamagedError as problem:
            aside = path.with_suffix(".damaged")
            with suppress(FileNotFoundError):  # another process of this training was faster
                os.replace(path, aside)
            warnings.append(f"{path} is damaged ({problem}) and now named {aside.name}")
            return False
        if saved.get("fingerprint") == self.fingerprint:
            return True
        warnings.append(f"{path} belongs to other data or settings")
        return False

    def _remove_abandoned(self) -> None:
        """Delete what processes killed in the middle of a checkpoint have left."""
        for path in self.folder.glob(f".{self.path.stem}.*.tmp"):
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink(missing_ok=True)

    def on_save_checkpoint(self, trainer, loop, saved):
        saved["fingerprint"] = self.fingerprint

    def on_load_checkpoint(self, trainer, loop, saved):
        if saved.get("fingerprint") != self.fingerprint:
            raise InputError(
                "another training has just written a checkpoint into this folder",
                fix="Give each training a folder of its own",
                file=self.folder,
            )

    def on_train_batch_end(self, trainer, loop, *_):
        if trainer.global_step % self.every == 0:
            if not trainer.is_global_zero:
                trainer.save_checkpoint(self.path)  # all processes must call it; only the first one writes
                return
            with tables.atomic_path(self.path) as temporary:
                trainer.save_checkpoint(temporary)
                seal(temporary)
                self._keep_previous()
            log = loop.history().append_column("seconds", loop.times()["seconds"])
            tables.write_tsv(log, self.folder / "log.tsv")

    def _keep_previous(self) -> None:
        """Give the last checkpoint a second name, under which it stays when the new one takes the first."""
        if not self.path.exists():
            return
        with tables.atomic_path(self.previous) as temporary:
            try:
                os.link(self.path, temporary)
            except OSError:  # no hard links on this file system
                shutil.copyfile(self.path, temporary)


def read(path: Path) -> dict:
    """
    Return what a checkpoint holds.

    Raises
    ------
    DamagedError
        If the file is incomplete or differs from its SHA-256. The checksums that PyTorch writes (CRC-32) are
        not enough: a changed byte in the directory of the zip file gives other content.
    FileNotFoundError, PermissionError
        As `open`.
    """
    check(path)
    return torch.load(path, map_location="cpu", weights_only=True)  # PyTorch reads what is before the seal


# --- Training

# airrvec name → Lightning name. bf16 is mixed precision: weights and losses stay float32.
PRECISIONS: dict[str, Literal["32-true", "bf16-mixed"]] = {"fp32": "32-true", "bf16": "bf16-mixed"}
LIBRARY = Path(__file__).parents[1]
# Warnings of Lightning about its own code, and its data loader: here the step determines the batch.
NEEDLESS = (
    r".*your dataloader is not resumable",
    r".*isinstance\(treespec, LeafSpec\)",
    r".*does not have many workers",
    # Lightning hints at it wherever Slurm is installed.
    r"The `srun` command is available",
)


@dataclass(frozen=True)
class Trained:
    """
    Result of training.

    Attributes
    ----------
    encoder : ReceptorEncoder
        Model with the lowest validation loss, or the last one; on the CPU, in evaluation mode.
    history : pyarrow.Table
        `airrvec.core.schema.TRAINING`.
    times : pyarrow.Table
        `airrvec.core.schema.TRAINING_TIMES`.
    step : int
        Step of ``encoder``.
    notes : list of str
        Messages to the user.
    """

    encoder: ReceptorEncoder
    history: pa.Table
    times: pa.Table
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
    checkpoint_every: int = CHECKPOINT_EVERY,
    device: str = "auto",
    devices: int = 1,
    nodes: int = 1,
    precision: str = "fp32",
    progress: Callable[[int], None] | None = None,
    callbacks: Sequence[L.Callback] = (),
    logger: str | Logger | Sequence[Logger] | None = None,
) -> Trained:
    """
    Train a model, or resume from the last checkpoint in the folder.

    Parameters
    ----------
    encoder : ReceptorEncoder
        Starting model; modified in place.
    receptors, validation : Receptors
        Training receptors and validation receptors.
    objective, schedule
        See `airrvec.training.presets`.
    seed : int
        Seed of all random numbers.
    folder : Path
        For checkpoints, and the log as TSV.
    fingerprint : str
        Digest of everything that determines the result, except the precision. A checkpoint with another
        fingerprint or precision is ignored, until the first checkpoint of this training replaces it.
    trainable : callable
        Name of a parameter → whether it is trained.
    checkpoint_every : int
        Steps between two checkpoints.
    device : str
        Lightning's accelerator: ``cpu``, ``gpu``, ``auto``.
    devices, nodes : int
        Devices per node, and nodes, that share each batch (DDP, with gathered vectors). Lightning starts the
        same script in one process per device; only the first returns, the others exit.
    precision : str
        One of `PRECISIONS`.
    progress : callable, optional
        Called with the number of steps done since the last call.
    callbacks : sequence of lightning.Callback
        Callbacks of the user. After each step ``outputs`` holds the terms of the loss; `Loop.rows` is the
        log. Their state is saved in the checkpoints.
    logger : str, Logger or sequence of Logger, optional
        A name in `airrvec.training.loggers.LOGGERS`, or loggers of Lightning; they receive each row of the
        log, as ``train/loss`` and so on. The log is written as TSV in any case.

    Raises
    ------
    InputError
        If the loss of the receptors does not depend on the model, the loss is not a number, or the packages
        of the logger are missing. The last good checkpoint is kept.
    """
    _check(receptors, objective, schedule)
    log_to = loggers.load(logger, folder)
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad = trainable(name)
    _check_trained(encoder)
    loop = Loop(encoder, receptors, validation, objective, schedule, seed, progress)
    checkpoints = Checkpoints(folder, checkpoint_every, f"{fingerprint} {precision}")
    for item in log_to:
        item.log_hyperparams({**objective.as_dict(), **asdict(schedule), "seed": seed})
    with _quiet_lightning():
        trainer = L.Trainer(
            accelerator=device,
            devices=devices,
            num_nodes=nodes,
            strategy="ddp_find_unused_parameters_true" if devices * nodes > 1 else "auto",
            precision=PRECISIONS[precision],
            max_steps=schedule.steps,
            callbacks=[*callbacks, checkpoints],
            logger=log_to or False,
            log_every_n_steps=1,
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
    return Trained(encoder.cpu().eval(), loop.history(), loop.times(), loop.best_step, loop.notes)


@contextmanager
def _quiet_lightning() -> Iterator[None]:
    """Leave out Lightning's greetings and `NEEDLESS`; put back what it sets for the whole process."""
    log, deterministic = logging.getLogger("lightning.pytorch"), torch.are_deterministic_algorithms_enabled()
    level = log.level
    log.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for message in NEEDLESS:
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        log.setLevel(level)
        torch.use_deterministic_algorithms(deterministic)


def _check_trained(encoder: ReceptorEncoder) -> None:
    """Raise `InputError` if no parameter is trained."""
    if not any(parameter.requires_grad for parameter in encoder.parameters()):
        names = dict.fromkeys(name.rpartition(".")[0] for name, _ in encoder.named_parameters())
        raise InputError(
            "the preset's layers name no parameter of the model",
            fix=f"Give all, last, or beginnings of {', '.join(names)}",
        )


def _check(receptors: Receptors, objective: Objective, schedule: Schedule) -> None:
    """Raise `InputError` if the contrastive loss of the receptors does not depend on the model."""
    kind, loss = objective.contrastive, objective.loss
    if not receptors.comparable(np.arange(len(receptors.tokens)), loss):
        labels = " of one label and one of another" if loss and loss.needs_pairs else ""
        raise InputError(
            f"the {kind} contrastive loss needs two receptors{labels} that differ in what the model reads,"
            f" and there are none among {counted(len(receptors.tokens), 'training receptor')}",
            fix="Give more receptors, or a model that reads more of their loops",
        )
    if loss and loss.needs_pairs and receptors.places(schedule.batch_size) < 2:
        n_labels = receptors.n_labels
        raise InputError(
            f"a batch of {schedule.batch_size} has one place for each of {n_labels} labels, and the"
            f" {kind} loss compares receptors of one label",
            fix=f"Give --train_batch_size {2 * n_labels} or more",
        )


def fingerprint(**facts) -> str:
    """Return the SHA-256 of facts (JSON values) and of the code of models, training and random numbers."""
    patterns = ("model/*.py", "training/*.py", "core/seeds.py")
    files = [path for pattern in patterns for path in sorted(LIBRARY.glob(pattern))]
    code = [path.read_text() for path in files]
    return hashlib.sha256(json.dumps([facts, code], allow_nan=False).encode()).hexdigest()
