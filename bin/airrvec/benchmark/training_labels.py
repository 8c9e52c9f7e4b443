"""
The labelled receptors that a model has been trained on.

On these a model is better than on others: a benchmark on them, or a calibration, flatters it. Receptors are
compared at the level of the gene, as `airrvec.core.identity.clonotype_ids` does.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airrvec.core import identity, schema, tables
from airrvec.core.chains import on_chains
from airrvec.model import weights
from airrvec.model.architecture import LABELLED_TERMS

FILE = "training_labels.parquet"  # of a model's folder
# Published models trained on labels; their package does not list the receptors.
NOT_RECORDED = ("sceptr_finetuned",)
MARK = " †"  # behind the title of an encoder that is measured on receptors it has been trained on


@dataclass(frozen=True)
class TrainingLabels:
    """
    What is recorded of the labelled receptors that models have been trained on.

    Attributes
    ----------
    receptors : pyarrow.Table
        `airrvec.core.schema.TRAINING_LABELS`.
    not_recorded : tuple of str
        Models that have been trained on labelled receptors of which there is no list.
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
        Whether models have been trained on receptors.

        Parameters
        ----------
        receptors : pyarrow.Table
            ``receptors``; of single chains, where ``chains`` are.
        chains : {"paired", "alpha", "beta"}
            What the receptors are known by: a β chain is one that a model has been trained on if any of
            its training receptors has it.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        known = on_chains(self.receptors.select(schema.RECEPTORS.names), chains)
        ids = identity.clonotype_ids(receptors)
        return pc.is_in(ids, identity.clonotype_ids(known)).to_numpy(zero_copy_only=False)

    def write(self, folder: Path) -> dict:
        """Write the receptors into a model's folder; the entry for its ``config.json``."""
        if len(self.receptors):
            tables.write(self.receptors, folder / FILE)
        n_receptors = pc.count_distinct(self.receptors["receptor_id"]).as_py()
        return {"receptors": n_receptors, "not_recorded": list(self.not_recorded)}


NONE = TrainingLabels(schema.TRAINING_LABELS.empty_table())


def of_encoder(name: str) -> TrainingLabels:
    """
    What an encoder has been trained on.

    Parameters
    ----------
    name : str
        As `airrvec.encoders.load` takes it.
    """
    if Path(name).is_dir():
        return _of_folder(Path(name))
    if name.endswith(".py"):
        return NONE
    if "+" in name:
        found = NONE
        for part in name.split("+"):
            found |= of_encoder(part)
        return found
    return TrainingLabels(NONE.receptors, (name,)) if name in NOT_RECORDED else NONE


def not_recorded_warning(model: str) -> str:
    """What a figure of a model says little of, where its training receptors are unknown."""
    return (
        f"{model} has been trained on labelled receptors that are not recorded: what is measured of it on"
        " labelled receptors may be too high"
    )


def kept_warning(model: str, n_seen: int, n_receptors: int) -> str:
    """The same, where too few receptors would remain without those of its training."""
    return (
        f"{model} has been trained on {n_seen:,} of the {n_receptors:,} receptors that it is measured on,"
        " too many to leave them out: what is measured of it is too high"
    )


def of_files(paths: list[Path]) -> TrainingLabels:
    """What the files of several models record, one after another."""
    return TrainingLabels(pa.concat_tables([NONE.receptors, *(tables.read(path) for path in paths)]))


def of_split(split, start: TrainingLabels) -> TrainingLabels:
    """
    What fine-tuning on a split adds to what its start has been trained on.

    Validation receptors choose the weights, so that they belong to it.
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


def _of_folder(folder: Path) -> TrainingLabels:
    config = weights.configuration(folder)
    name = config.get("name", folder.name)
    recorded = config.get("labels")
    if recorded is None:  # of airrvec 0.1, or a published model
        contrastive = config.get("preset", {}).get("objective", {}).get("contrastive")
        trained = contrastive in LABELLED_TERMS or {name, config.get("start")} & {*NOT_RECORDED}
        return TrainingLabels(NONE.receptors, (name,) if trained else ())
    if not (folder / FILE).is_file():
        lost = (name,) if recorded["receptors"] else ()
        return TrainingLabels(NONE.receptors, (*lost, *recorded["not_recorded"]))
    return TrainingLabels(tables.read(folder / FILE), tuple(recorded["not_recorded"]))
