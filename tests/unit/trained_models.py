"""Model folders that record what they were trained on."""

import json
from pathlib import Path

from airrvec.core import schema
from airrvec.evaluation.training_labels import TrainingLabels
from airrvec.model import weights

import pyarrow as pa


def labels_of(receptors: pa.Table, not_recorded: tuple[str, ...] = ()) -> TrainingLabels:
    table = receptors.select(schema.RECEPTORS.names)
    for name, word in (("epitope", "E"), ("part", "train")):
        table = table.append_column(name, pa.array([word] * len(table)))
    return TrainingLabels(table, not_recorded)


def model(folder: Path, trained_on: TrainingLabels | None = None, **config) -> Path:
    """The smallest published model as an own one."""
    weights.load("sceptr_tiny").save(folder)
    described = json.loads((folder / "config.json").read_text()) | {"name": folder.name, **config}
    if trained_on is not None:
        described["labels"] = trained_on.write(folder)
    (folder / "config.json").write_text(json.dumps(described))
    return folder
