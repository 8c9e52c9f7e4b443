"""Training presets, one JSON file per variant of the paper in ``conf/models/``; options of the scripts."""

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import cos, pi
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

from airrvec.core import records, settings
from airrvec.core.devices import choose_device
from airrvec.core.errors import InputError
from airrvec.core.json_files import read_object, to_dataclass
from airrvec.core.script import add_options
from airrvec.model.architecture import ModelConfig

if TYPE_CHECKING:
    from airrvec.training.losses import Loss

CHECKPOINT_EVERY = 200  # steps between two checkpoints
_LIBRARY = Path(__file__).parents[1]
# The presets of airrvec: inside of the library once it is installed, next to it in a checkout.
SHIPPED = _LIBRARY / "models" if (_LIBRARY / "models").is_dir() else _LIBRARY.parents[1] / "conf/models"
HELP = "docs/reference/presets.md lists what a preset holds"


@dataclass(frozen=True, kw_only=True)
class Objective:
    """
    Training objective: the unweighted sum of its terms (paper, Methods, "Procedure").

    Attributes
    ----------
    contrastive : str, callable or None
        Contrastive term, if any: a key of `airrvec.training.losses.LOSSES`; the path of a user's Python file
        with a loss, which is executed when the loss is needed; or its function
        (`airrvec.training.own.from_function`).
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

    contrastive: str | Callable[..., Any] | None = "auto"
    masked_language: bool = True
    temperature: float = 0.05
    label_smoothing: float = 0.1
    censored_residues: float = 0.2
    dropped_chains: float = 0.5
    masked_residues: float = 0.15

    def __post_init__(self):
        from airrvec.training.losses import LOSSES  # only here: it needs torch

        if not self.own_file and not callable(self.contrastive) and self.contrastive not in (None, *LOSSES):
            raise ValueError(
                f"contrastive is {self.contrastive!r}, not one of {', '.join(LOSSES)}, a Python file or null"
            )
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}, not above 0")
        for name in ("label_smoothing", "censored_residues", "dropped_chains", "masked_residues"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not from 0 to 1")
        if self.contrastive is None and not self.masked_language:
            raise ValueError("an objective needs a contrastive or a masked-language term")

    @property
    def own_file(self) -> Path | None:
        """The user's file with the contrastive loss, if it is one."""
        is_file = isinstance(self.contrastive, str) and self.contrastive.endswith(".py")
        return Path(self.contrastive) if is_file else None  # type: ignore[arg-type]

    @cached_property
    def loss(self) -> "Loss | None":
        """
        Contrastive loss, if any.

        Raises
        ------
        InputError
            If the user's file is missing or breaks the contract.
        """
        from airrvec.training import own
        from airrvec.training.losses import LOSSES

        if self.contrastive is None:
            return None
        if self.own_file:
            return own.load_loss(self.own_file)
        if callable(self.contrastive):
            return own.from_function(self.contrastive, function_name(self.contrastive))
        return LOSSES[self.contrastive]

    @property
    def loss_name(self) -> str | None:
        """Name of the contrastive loss: in a preset, of a file, or of a function."""
        if self.own_file:
            return self.own_file.name
        return function_name(self.contrastive) if callable(self.contrastive) else self.contrastive

    def as_dict(self) -> dict:
        """Return all settings as JSON values; of a user's file, its name and SHA-256."""
        settings = asdict(self) | {"contrastive": self.loss_name}
        return settings | ({"contrastive_sha256": records.sha256(self.own_file)} if self.own_file else {})

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
    decay : bool or {"linear", "cosine"}
        How the rate then decreases: True, with the inverse square root of the step (Vaswani et al. 2017; it
        needs a warm-up); ``linear`` or ``cosine``, to 0 after the last step; False, it stays constant.
    optimiser : str
        A key of `airrvec.training.optimisers.OPTIMISERS`.
    betas : tuple of two floats
        Decay rates of Adam's moments; of SGD, the first one is the momentum.
    weight_decay : float
        Weight decay of the optimiser.
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
    decay: bool | Literal["linear", "cosine"] = True
    optimiser: str = "adam"
    betas: tuple[float, ...] = (0.9, 0.98)
    weight_decay: float = 0.0
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
        for name in ("warmup_steps", "weight_decay"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, not 0 or more")
        if len(self.betas) != 2 or not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas are {list(self.betas)}, not two numbers from 0 to below 1")
        if self.optimiser != type(self).optimiser:  # the default needs no torch
            from airrvec.training.optimisers import OPTIMISERS

            if self.optimiser not in OPTIMISERS:
                raise ValueError(f"optimiser is {self.optimiser!r}, not one of {', '.join(OPTIMISERS)}")

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 1."""
        warm = step / max(self.warmup_steps, 1)
        if warm < 1:
            return self.learning_rate * warm
        if self.decay in ("linear", "cosine"):
            left = (self.steps + 1 - step) / (self.steps + 1 - self.warmup_steps)
            return self.learning_rate * (left if self.decay == "linear" else (1 - cos(pi * left)) / 2)
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
    callbacks : str or None
        The path of a user's Python file with Lightning callbacks (`airrvec.training.own.load_callbacks`).
    model : ModelConfig
    objective : Objective
    schedule : Schedule
    """

    name: str
    title: str
    data: Literal["receptors", "synthetic", "shuffled"] = "receptors"
    layers: str = "all"
    callbacks: str | None = None
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
                " term is supervised, neighbour, or a Python file whose loss takes labels",
            )

    def changed(
        self,
        *,
        name: str | None = None,
        steps: int | None = None,
        batch_size: int | None = None,
        loss: str | Path | Callable[..., Any] | None = None,
        callbacks: str | Path | None = None,
    ) -> "Preset":
        """
        Return the preset with other values; None keeps the preset's value.

        Parameters
        ----------
        name : str, optional
        steps, batch_size : int, optional
            From 1 on.
        loss : str, Path or callable, optional
            The contrastive term: a name, a Python file, or a function; see `Objective`.
        callbacks : str or Path, optional
            A Python file.

        Raises
        ------
        InputError
            If a value is out of range, or there is no such loss.
        """
        schedule = {"steps": steps, "batch_size": batch_size}
        try:
            return replace(
                self,
                name=self.name if name is None else name,
                callbacks=self.callbacks if callbacks is None else str(callbacks),
                schedule=replace(self.schedule, **_chosen(schedule)),
                objective=replace(self.objective, **_chosen({"contrastive": _word(loss)})),
            )
        except ValueError as error:
            raise InputError(str(error)) from error

    def load_callbacks(self) -> list:
        """
        Return the callbacks of the user's file, if any, which is executed.

        Raises
        ------
        InputError
            If the file is missing or breaks the contract.
        """
        from airrvec.training import own

        return own.load_callbacks(Path(self.callbacks)) if self.callbacks else []

    def as_dict(self) -> dict:
        """Return all settings as JSON values; of a user's file, its name and SHA-256."""
        settings = asdict(self) | {"objective": self.objective.as_dict()}
        if self.callbacks:
            path = Path(self.callbacks)
            settings |= {"callbacks": path.name, "callbacks_sha256": records.sha256(path)}
        return settings


def function_name(function: Callable) -> str:
    """Return the name of a function, with its module."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return f"{function.__module__}.{name}"


def _chosen(values: dict) -> dict:
    return {name: value for name, value in values.items() if value is not None}


def _word(loss: str | Path | Callable[..., Any] | None) -> str | Callable[..., Any] | None:
    return str(loss) if isinstance(loss, Path) else loss


def find(preset: str | Path) -> Path:
    """
    Return the file of a preset.

    Parameters
    ----------
    preset : str or Path
        Name of a preset of airrvec, or a JSON file.

    Raises
    ------
    InputError
        If there is no such preset; a file that is missing is named by `load`.
    """
    path = Path(preset)
    shipped = {file.stem: file for file in sorted(SHIPPED.glob("*.json"))}
    if str(preset) in shipped:
        return shipped[str(preset)]
    if path.suffix == ".json" or path.exists():
        return path
    raise InputError(
        f"'{preset}' is neither a JSON file nor one of {', '.join(shipped)}",
        fix="Give the name of a preset, or the path of your own; " + HELP,
    )


def load(preset: str | Path) -> Preset:
    """
    Read a preset.

    Parameters
    ----------
    preset : str or Path
        Name of a preset of airrvec, or a JSON file. Python files that it names are sought in its folder.

    Raises
    ------
    InputError
        If there is no such preset, the file is not a JSON object, or a key or value is invalid.
    """
    path = find(preset)
    content = read_object(path, "the preset", HELP)
    try:
        parts = {
            "model": to_dataclass(ModelConfig, content.pop("model", {})),
            "objective": to_dataclass(Objective, content.pop("objective", {})),
            "schedule": to_dataclass(Schedule, content.pop("schedule", {})),
        }
        loaded = to_dataclass(Preset, {"name": path.stem, "title": path.stem, **content, **parts})
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(f"the preset does not fit: {error}", file=path, fix=HELP) from error
    loss, callbacks = loaded.objective.own_file, loaded.callbacks
    return loaded.changed(
        loss=loss and path.parent / loss, callbacks=None if callbacks is None else path.parent / callbacks
    )


# --- Options of the scripts that train


def checkpoint_folder() -> Path:
    """
    Return the folder that the pipeline names in the environment, else ``checkpoints``.

    The name is percent-encoded: Nextflow writes it into the shell scripts of tasks, unescaped.
    """
    return Path(unquote(os.environ.get("AIRRVEC_CHECKPOINTS", "checkpoints")))


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the scripts that train."""
    parser.add_argument("--preset", required=True, help="a preset of conf/models by its name, or a JSON file")
    settings.add(parser, "train_steps", "train_batch_size", "train_callbacks")
    parser.add_argument(
        "--checkpoints",
        type=Path,
        default=checkpoint_folder(),
        help="folder; training resumes from it. By default what AIRRVEC_CHECKPOINTS says, percent-encoded",
    )
    parser.add_argument(
        "--checkpoint-every", type=int, default=CHECKPOINT_EVERY, help="steps between two checkpoints"
    )
    settings.add(parser, "device", "train_devices", "train_precision", "train_logger")
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
        "logger": args.train_logger,
    }
