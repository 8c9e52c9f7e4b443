"""Training presets, one JSON file per variant of the paper in ``conf/models/``; options of the scripts."""

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote

from airrvec.core import settings
from airrvec.core.devices import choose_device
from airrvec.core.errors import InputError
from airrvec.core.json_files import read_object, to_dataclass
from airrvec.core.script import add_options
from airrvec.model.architecture import ModelConfig

if TYPE_CHECKING:
    from airrvec.training.losses import Loss

CHECKPOINT_EVERY = 200  # steps between two checkpoints


@dataclass(frozen=True, kw_only=True)
class Objective:
    """
    Training objective: the unweighted sum of its terms (paper, Methods, "Procedure").

    Attributes
    ----------
    contrastive : str or None
        Contrastive term, if any: a key of `airrvec.training.losses.LOSSES`.
    masked_language : bool
        Whether masked-language modelling is a term.
    temperature : float
        τ of the contrastive term.
    label_smoothing : float
        Label smoothing of the masked-language term.
    censored_residues, dropped_chains : float
        Share of residues removed from a view, and probability that a view loses a chain. If both are 0,
        dropout is the only noise.
    masked_residues : float
        Share of residues that masked-language modelling predicts.
    """

    contrastive: str | None = "auto"
    masked_language: bool = True
    temperature: float = 0.05
    label_smoothing: float = 0.1
    censored_residues: float = 0.2
    dropped_chains: float = 0.5
    masked_residues: float = 0.15

    def __post_init__(self):
        from airrvec.training.losses import LOSSES  # only here: it needs torch

        if self.contrastive not in (None, *LOSSES):
            raise ValueError(f"contrastive is {self.contrastive!r}, not one of {', '.join(LOSSES)} or null")
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}, not above 0")
        for name in ("label_smoothing", "censored_residues", "dropped_chains", "masked_residues"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not from 0 to 1")
        if self.contrastive is None and not self.masked_language:
            raise ValueError("an objective needs a contrastive or a masked-language term")

    @property
    def loss(self) -> "Loss | None":
        """Contrastive loss, if any."""
        from airrvec.training.losses import LOSSES

        return None if self.contrastive is None else LOSSES[self.contrastive]

    @property
    def needs_labels(self) -> bool:
        """Whether the contrastive term uses labels."""
        return self.loss is not None and self.loss.needs_labels


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """
    Steps, batches and learning rate.

    Attributes
    ----------
    steps : int
        Largest number of optimiser steps.
    batch_size : int
        Receptors per step, over all devices.
    learning_rate : float
        Peak learning rate.
    warmup_steps : int
        Steps of linear increase to the peak.
    decay : bool
        Whether the rate then decreases with the inverse square root of the step (Vaswani et al. 2017).
        Otherwise, or without warm-up, it stays constant.
    clip : float or None
        Largest norm of the gradient.
    validate_every : int
        Steps between two validations.
    patience : int or None
        Number of validations in a row without a lower loss after which training stops.
    """

    steps: int = 143_200
    batch_size: int = 1024
    learning_rate: float = 1.25e-3
    warmup_steps: int = 10_000
    decay: bool = True
    clip: float | None = 1.0
    validate_every: int = 500
    patience: int | None = None

    def __post_init__(self):
        for name in ("steps", "batch_size", "validate_every", "patience"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise ValueError(f"{name} is {value}, not 1 or more")
        for name in ("learning_rate", "clip"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ValueError(f"{name} is {value}, not above 0")
        if self.warmup_steps < 0:
            raise ValueError(f"warmup_steps is {self.warmup_steps}, not 0 or more")

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 1."""
        warm = step / max(self.warmup_steps, 1)
        if warm < 1:
            return self.learning_rate * warm
        return self.learning_rate * (warm**-0.5 if self.decay and self.warmup_steps else 1.0)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """
    Training settings, and the architecture of a model that starts from random weights.

    Attributes
    ----------
    name, title : str
        Name of the file, and name of the model in reports.
    data : {"receptors", "synthetic", "shuffled"}
        The run's receptors, synthetic receptors of OLGA, or the run's receptors with randomly re-paired
        chains.
    layers : str
        Trained parameters: ``all``; ``last`` for the last self-attention layer; or prefixes of parameter
        names, joined by commas, such as ``layers.2,embedding,mlm_head``.
    model : ModelConfig
    objective : Objective
    schedule : Schedule
    """

    name: str
    title: str
    data: Literal["receptors", "synthetic", "shuffled"] = "receptors"
    layers: str = "all"
    model: ModelConfig = field(default_factory=ModelConfig)
    objective: Objective = field(default_factory=Objective)
    schedule: Schedule = field(default_factory=Schedule)

    def trainable(self, n_layers: int) -> Callable[[str], bool]:
        """Return a function: name of a parameter → whether it is trained, in a model of ``n_layers``."""
        if self.layers == "all":
            return lambda name: True
        names = f"layers.{n_layers - 1}" if self.layers == "last" else self.layers
        prefixes = tuple(name.strip() + "." for name in names.split(","))
        return lambda name: name.startswith(prefixes)

    def check_finetuning(self) -> None:
        """
        Check that training with this preset depends on the labels.

        Raises
        ------
        InputError
            If its contrastive term uses none.
        """
        if not self.objective.needs_labels:
            raise InputError(
                f"the preset '{self.name}' does not learn from labels, which fine-tuning is for",
                fix="Fine-tune with neighbour or finetuned, or with a preset of your own whose contrastive"
                " term is supervised or neighbour",
            )

    def changed(self, *, name: str | None, steps: int | None, batch_size: int | None) -> "Preset":
        """
        Return the preset with the given name, steps and batch size; None keeps the preset's value.

        Raises
        ------
        InputError
            If the steps or the batch size are below 1.
        """
        schedule = self.schedule
        try:
            schedule = replace(
                schedule,
                steps=schedule.steps if steps is None else steps,
                batch_size=schedule.batch_size if batch_size is None else batch_size,
            )
        except ValueError as error:
            raise InputError(str(error)) from error
        return replace(self, name=self.name if name is None else name, schedule=schedule)

    def as_dict(self) -> dict:
        """Return all settings, for a JSON file."""
        return asdict(self)


def load(path: str | Path) -> Preset:
    """
    Read a preset.

    Raises
    ------
    InputError
        If the file is not a JSON object, or a key or value is invalid.
    """
    path = Path(path)
    content = read_object(path, "the preset", "docs/reference/presets.md lists what a preset holds")
    try:
        parts = {
            "model": to_dataclass(ModelConfig, content.pop("model", {})),
            "objective": to_dataclass(Objective, content.pop("objective", {})),
            "schedule": to_dataclass(Schedule, content.pop("schedule", {})),
        }
        preset = to_dataclass(Preset, {"name": path.stem, "title": path.stem, **content, **parts})
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"the preset does not fit: {error}",
            file=path,
            fix="docs/reference/presets.md lists what a preset holds",
        ) from error
    return preset


# --- Options of the scripts that train


def checkpoint_folder() -> Path:
    """
    Return the folder that the pipeline names in the environment, else ``checkpoints``.

    The name is percent-encoded: Nextflow writes it into the shell scripts of tasks, unescaped.
    """
    return Path(unquote(os.environ.get("AIRRVEC_CHECKPOINTS", "checkpoints")))


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the scripts that train."""
    parser.add_argument("--preset", type=Path, required=True, help="JSON file, as in conf/models")
    settings.add(parser, "train_steps", "train_batch_size")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        default=checkpoint_folder(),
        help="folder; training resumes from it. By default what AIRRVEC_CHECKPOINTS says, percent-encoded",
    )
    parser.add_argument(
        "--checkpoint-every", type=int, default=CHECKPOINT_EVERY, help="steps between two checkpoints"
    )
    settings.add(parser, "device", "train_devices", "train_precision")
    parser.add_argument("--nodes", type=int, default=1, help="nodes that share each batch")
    add_options(parser, "seed", "threads", "outdir")


def training_options(args: argparse.Namespace) -> dict:
    """
    Return these options as arguments of `airrvec.training.trainer.train`.

    Raises
    ------
    InputError
        If a GPU is requested, and there is none.
    """
    choose_device(args.device, "auto")
    return {
        "checkpoint_every": args.checkpoint_every,
        "device": args.device,
        "devices": args.train_devices,
        "nodes": args.nodes,
        "precision": args.train_precision,
    }
