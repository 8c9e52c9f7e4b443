"""
Labelled receptors that a model was trained on.

A model performs better on these than on others, so a benchmark or a calibration on them is too optimistic.
Receptors are compared without alleles (`airrvec.core.identity.clonotype_ids`).
"""

import os
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import identity, schema, tables
from airrvec.core.chains import on_chains
from airrvec.model import weights

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

FILE_NAME = "training_labels.parquet"  # in a model's folder
# Published models trained on labels, whose package does not list the receptors.
NOT_RECORDED = ("sceptr_finetuned",)
TRAINED_ON_MARK = " †"  # after the title of an encoder that is measured on its training receptors


@dataclass(frozen=True)
class TrainingLabels:
    """
    Record of the labelled receptors that models were trained on.

    Attributes
    ----------
    receptors : pyarrow.Table
        `airrvec.core.schema.TRAINING_LABELS`.
    not_recorded : tuple of str
        Models trained on labelled receptors that are not listed.
    """

    receptors: pa.Table
    not_recorded: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(len(self.receptors) or self.not_recorded)

    def __or__(self, other: "TrainingLabels") -> "TrainingLabels":
        receptors = pa.concat_tables([self.receptors, other.receptors])
        return TrainingLabels(receptors, tuple(dict.fromkeys((*self.not_recorded, *other.not_recorded))))

    def include(self, receptors: pa.Table, chains: str = "paired") -> np.ndarray:
        """
        Return whether each receptor is a training receptor.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors``; with one chain only, if ``chains`` is ``alpha`` or ``beta``.
        chains : {"paired", "alpha", "beta"}
            Chains to compare. With ``beta``, a receptor matches if any training receptor has its β chain.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        known = on_chains(self.receptors.select(schema.RECEPTORS.names), chains)
        ids = identity.clonotype_ids(receptors)
        return pc.is_in(ids, identity.clonotype_ids(known)).to_numpy(zero_copy_only=False)

    def write(self, folder: Path) -> dict:
        """Write the receptors into a model's folder and return the entry for its ``config.json``."""
        if len(self.receptors):
            tables.write(self.receptors, folder / FILE_NAME)
        n_receptors = pc.count_distinct(self.receptors["clonotype_id"]).as_py()
        return {"receptors": n_receptors, "not_recorded": list(self.not_recorded)}


NO_LABELS = TrainingLabels(schema.TRAINING_LABELS.empty_table())


def labels_from_encoder(name: str) -> TrainingLabels:
    """
    Return the labelled receptors that an encoder was trained on.

    Parameters
    ----------
    name : str
        As for `airrvec.encoders.load`.
    """
    if os.path.isdir(name):
        return _folder_labels(Path(name))
    if name.endswith(".py"):
        return NO_LABELS
    if "+" in name:
        labels = NO_LABELS
        for part in name.split("+"):
            labels |= labels_from_encoder(part)
        return labels
    return TrainingLabels(NO_LABELS.receptors, (name,)) if name in NOT_RECORDED else NO_LABELS


def not_recorded_warning(model: str) -> str:
    """Return the warning for a model whose training receptors are unknown."""
    return (
        f"{model} has been trained on labelled receptors that are not recorded: its results on labelled"
        " receptors may be too high"
    )


def kept_warning(model: str, n_seen: int, n_receptors: int) -> str:
    """Return the warning for a model whose training receptors are too many to exclude."""
    return (
        f"{model} has been trained on {n_seen:,} of the {n_receptors:,} receptors that it is measured on,"
        " too many to exclude them: its results are too high"
    )


def read_labels(paths: list[Path]) -> TrainingLabels:
    """Read and concatenate the files of several models."""
    return TrainingLabels(pa.concat_tables([NO_LABELS.receptors, *(tables.read(path) for path in paths)]))


def labels_from_split(split, start: TrainingLabels) -> TrainingLabels:
    """
    Return the training receptors of a model fine-tuned on a split, those of its starting model included.

    Validation receptors are included, because they select the weights.
    """
    rows = [
        (row, epitope, part)
        for part in ("train", "validation")
        for epitope, members in getattr(split, part).items()
        for row in members.tolist()
    ]
    numbers, epitopes, parts = (list(column) for column in zip(*rows, strict=True))
    table = split.labelled.receptors.select(schema.RECEPTORS.names).take(pa.array(numbers))
    table = table.append_column("epitope", pa.array(epitopes)).append_column("part", pa.array(parts))
    return TrainingLabels(table.cast(schema.TRAINING_LABELS), ()) | start


def _folder_labels(folder: Path) -> TrainingLabels:
    config = weights.read_configuration(folder)
    name = config.get("name", folder.name)
    recorded = config.get("labels")
    if recorded is None:  # a published model, or a folder that another program has made
        trained = "preset" in config or {name, config.get("start")} & {*NOT_RECORDED}
        return TrainingLabels(NO_LABELS.receptors, (name,) if trained else ())
    if not (folder / FILE_NAME).is_file():
        missing = (name,) if recorded["receptors"] else ()
        return TrainingLabels(NO_LABELS.receptors, (*missing, *recorded["not_recorded"]))
    return TrainingLabels(tables.read(folder / FILE_NAME), tuple(recorded["not_recorded"]))
