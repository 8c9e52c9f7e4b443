"""How a model is trained: the presets in ``conf/models/``, one JSON file a variant of the paper."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from airrvec.core.errors import InputError
from airrvec.core.json_files import data_class, read_object
from airrvec.model.architecture import LABELLED_TERMS, ModelConfig


@dataclass(frozen=True, kw_only=True)
class Objective:
    """
    What training minimises: the plain sum of its terms (paper, Methods, "Procedure").

    Attributes
    ----------
    contrastive : {"auto", "supervised", "neighbour", None}
        The contrastive term, if any; `airrvec.training.objectives`.
    masked_language : bool
        Whether masked-language modelling is a term.
    temperature : float
        τ of the contrastive term.
    label_smoothing : float
        Of the masked-language term.
    censored_residues, dropped_chains : float
        Share of residues that a view lacks, and probability that it lacks a chain; 0 and 0 leave
        dropout as the only noise.
    masked_residues : float
        Share of residues that masked-language modelling has to guess.
    """

    contrastive: Literal["auto", "supervised", "neighbour"] | None = "auto"
    masked_language: bool = True
    temperature: float = 0.05
    label_smoothing: float = 0.1
    censored_residues: float = 0.2
    dropped_chains: float = 0.5
    masked_residues: float = 0.15

    def __post_init__(self):
        if self.temperature <= 0:
            raise ValueError(f"temperature is {self.temperature}, not above 0")
        for name in ("label_smoothing", "censored_residues", "dropped_chains", "masked_residues"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not from 0 to 1")
        if self.contrastive is None and not self.masked_language:
            raise ValueError("an objective needs a contrastive or a masked-language term")

    @property
    def needs_labels(self) -> bool:
        """Whether the contrastive term learns from labels."""
        return self.contrastive in LABELLED_TERMS


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """
    Steps, batches and learning rate.

    Attributes
    ----------
    steps : int
        Optimiser steps at most.
    batch_size : int
        Receptors in a step, over all devices.
    learning_rate : float
        The peak.
    warmup_steps : int
        Steps of linear growth to the peak.
    decay : bool
        Whether the rate then falls with the square root of the step (Vaswani et al. 2017), else it stays.
    clip : float or None
        Largest norm of the gradient.
    validate_every : int
        Steps between two looks at the validation data.
    patience : int or None
        Looks without a better validation loss after which training stops.
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
        """Learning rate of a step, counted from 1."""
        warm = step / max(self.warmup_steps, 1)
        if warm < 1:
            return self.learning_rate * warm
        return self.learning_rate * (warm**-0.5 if self.decay and self.warmup_steps else 1.0)


@dataclass(frozen=True, kw_only=True)
class Preset:
    """
    How a model is trained, and its shape where it starts from nothing.

    Attributes
    ----------
    name, title : str
        Name of the file, and what reports call the model.
    data : {"receptors", "synthetic", "shuffled"}
        The run's receptors, OLGA's, or the run's with their chains paired anew at random.
    layers : str
        What is trained: ``all``; ``last``, the last layer of self-attention; or beginnings of
        parameters' names, joined by commas, such as ``layers.2,embedding,mlm_head``.
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
        """Tells by a parameter's name whether it is trained, in a model of so many layers."""
        if self.layers == "all":
            return lambda name: True
        names = f"layers.{n_layers - 1}" if self.layers == "last" else self.layers
        beginnings = tuple(name.strip() + "." for name in names.split(","))
        return lambda name: name.startswith(beginnings)

    def changed(self, *, name: str | None, steps: int | None, batch_size: int | None) -> "Preset":
        """The preset with another name, steps or batch, where they are given."""
        given = {"steps": steps, "batch_size": batch_size}
        schedule = replace(self.schedule, **{word: value for word, value in given.items() if value})
        return replace(self, name=name or self.name, schedule=schedule)

    def as_dict(self) -> dict:
        """Everything, for a JSON file."""
        return asdict(self)


def load(path: str | Path) -> Preset:
    """
    Read a preset.

    Raises
    ------
    InputError
        If the file is no JSON object, or holds a word that a preset does not know.
    """
    path = Path(path)
    content = read_object(path, "the preset", "docs/models.md lists what a preset holds")
    try:
        parts = {
            "model": data_class(ModelConfig, content.pop("model", {})),
            "objective": data_class(Objective, content.pop("objective", {})),
            "schedule": data_class(Schedule, content.pop("schedule", {})),
        }
        preset = data_class(Preset, {"name": path.stem, "title": path.stem, **content, **parts})
    except (AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"the preset does not fit: {error}", file=path, fix="docs/models.md lists what a preset holds"
        ) from error
    return preset
