"""
The training loop: batches, losses, checkpoints (paper, Methods, "Procedure" of both trainings).

Whatever is random in a step, batch, views, masks and dropout, is drawn from generators seeded by the
run's seed and the number of the step. So a run that resumes from a checkpoint ends as one that was never
disturbed, and devices that share a batch draw the same random numbers without communicating.
"""

import hashlib
import json
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import lightning as L
import numpy as np
import pyarrow as pa

from airrvec.core.errors import InputError
from airrvec.model.transformer import ReceptorEncoder
from airrvec.training.batches import Receptors
from airrvec.training.checkpoints import Checkpoints
from airrvec.training.loop import Loop
from airrvec.training.presets import Objective, Schedule

# Our names → Lightning's; bf16 is mixed: weights and losses stay float32.
PRECISIONS = {"float32": "32-true", "bf16": "bf16-mixed"}


@dataclass(frozen=True)
class Trained:
    """
    What training leaves.

    Attributes
    ----------
    encoder : ReceptorEncoder
        The best by validation loss, else the last; on the CPU, in evaluation mode.
    history : pyarrow.Table
        `airrvec.core.schema.TRAINING`.
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
        `airrvec.training.presets`.
    seed : int
        Of all randomness.
    folder : Path
        For checkpoints, and the log as CSV.
    fingerprint : str
        Of all that training follows from, the precision aside. A checkpoint with another one, or of
        another precision, is of another training, and is left alone until the first of this one
        replaces it.
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
        If the receptors leave nothing to learn, or the loss is not a number; the last good checkpoint
        is kept.
    """
    _check(receptors, objective, schedule)
    for name, parameter in encoder.named_parameters():
        parameter.requires_grad = trainable(name)
    loop = Loop(encoder, receptors, validation, objective, schedule, seed, progress)
    checkpoints = Checkpoints(folder, checkpoint_every, f"{fingerprint} {precision}")
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


def _check(receptors: Receptors, objective: Objective, schedule: Schedule) -> None:
    """Find receptors whose loss is 0 whatever the model is."""
    kind = objective.contrastive
    if not receptors.comparable(np.arange(len(receptors.tokens)), kind):
        alike = " of one label beside one of another" if kind == "neighbour" else ""
        raise InputError(
            f"the {kind} contrastive loss needs two receptors{alike} that differ in what the model reads,"
            f" and the {len(receptors.tokens)} to train on hold none",
            fix="Give more receptors, or a model that reads more of their loops",
        )
    if kind == "neighbour" and receptors.places(schedule.batch_size) < 2:
        n_labels = len(np.unique(receptors.labels))
        raise InputError(
            f"a batch of {schedule.batch_size} has one place for each of {n_labels} labels, and the"
            " neighbour loss compares receptors of one label",
            fix=f"Give --train_batch_size {2 * n_labels} or more",
        )


def fingerprint(**facts) -> str:
    """SHA-256 of what training follows from: facts that JSON can hold, and the code that trains."""
    names = (
        *(f"model/{name}" for name in ("dropout", "dropout_kernel", "tokens", "transformer")),
        *(f"training/{name}" for name in ("batches", "loop", "objectives", "portions", "presets")),
        *(f"training/{name}" for name in ("sharing", "trainer", "views")),
    )
    code = [(Path(__file__).parents[1] / f"{name}.py").read_text() for name in names]
    return hashlib.sha256(json.dumps([facts, code], allow_nan=False).encode()).hexdigest()
