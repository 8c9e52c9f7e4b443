"""The folder of a trained model: weights, configuration, training history and model card."""

from pathlib import Path

import pyarrow as pa

from airrvec.benchmark import training_labels
from airrvec.benchmark.training_labels import TrainingLabels
from airrvec.core import tables
from airrvec.core.plural import counted
from airrvec.core.version import __version__
from airrvec.model import weights
from airrvec.training.presets import Preset
from airrvec.training.trainer import Trained


def write(
    folder: Path,
    trained: Trained,
    preset: Preset,
    *,
    name: str,
    start: str,
    data: dict[str, str],
    labels: TrainingLabels = training_labels.NO_LABELS,
) -> None:
    """
    Write the folder of a trained model.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    trained : Trained
        From `airrvec.training.trainer.train`.
    preset : Preset
        Preset of the training.
    name : str
        Name of the model in reports.
    start : str
        The model that training started from, or ``random weights``.
    data : dict
        Description of the training data: terms → numbers or digests, for the card and the configuration.
    labels : TrainingLabels
        Labelled receptors that the model and its starting model were trained on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    details = {"start": start, "step": trained.step, "data": data, "labels": labels.write(folder)}
    weights.save(trained.encoder, name, folder, {**details, "preset": preset.as_dict()})
    tables.write(trained.history, folder / "training.parquet")
    tables.write_text(card(trained, preset, name=name, start=start, data=data), folder / "MODEL_CARD.md")


def card(trained: Trained, preset: Preset, *, name: str, start: str, data: dict[str, str]) -> str:
    """Return the model card as Markdown; parameters as in `write`."""
    terms = [preset.objective.contrastive and f"{preset.objective.contrastive} contrastive"]
    terms.append("masked language" if preset.objective.masked_language else None)
    facts = {
        "Start": start,
        "Objective": " + ".join(filter(None, terms)),
        "Trained layers": preset.layers,
        "Steps": f"{trained.step:,} of at most {preset.schedule.steps:,}",
        "Batch": counted(preset.schedule.batch_size, "receptor"),
        "Learning rate": f"{preset.schedule.learning_rate:g}",
        "Warm-up": counted(preset.schedule.warmup_steps, "step"),
        **data,
        "airrvec": __version__,
    }
    last = {part: _last(trained.history, part) for part in ("train", "validation")}
    losses = [f"| {part} | {row['step']:,} | {row['loss']:.4f} |" for part, row in last.items() if row]
    lines = [
        f"# {name}",
        "",
        f"{preset.title}: a model that turns T-cell receptors into vectors, trained with airrvec.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {word} | {value} |" for word, value in facts.items()),
        "",
        "| Part | Step | Loss |",
        "|---|---|---|",
        *losses,
        "",
        *(f"- {note}" for note in trained.notes),
        "",
        "`config.json` holds all settings, `training.parquet` all steps, `training.png` the loss curves.",
    ]
    return "\n".join(lines) + "\n"


def _last(history: pa.Table, part: str) -> dict | None:
    rows = [row for row in history.to_pylist() if row["part"] == part]
    return rows[-1] if rows else None
