"""The folder of a trained model: weights, configuration, training history and model card."""

from pathlib import Path

from airrvec.benchmark import training_labels
from airrvec.benchmark.training_labels import TrainingLabels
from airrvec.core import tables
from airrvec.model import weights
from airrvec.training import model_card
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

    Notes
    -----
    The card holds the losses; a script that measures the model afterwards writes the card again
    (`airrvec.training.model_card.card`).
    """
    folder.mkdir(parents=True, exist_ok=True)
    details = {"start": start, "step": trained.step, "data": data, "labels": labels.write(folder)}
    weights.save(trained.encoder, name, folder, {**details, "preset": preset.as_dict()})
    tables.write(trained.history, folder / "training.parquet")
    tables.write(trained.times, folder / "training_times.parquet")
    text = model_card.card(
        trained, preset, name=name, start=start, data=data, labelled=bool(len(labels.receptors))
    )
    tables.write_text(text, folder / model_card.FILE_NAME)
