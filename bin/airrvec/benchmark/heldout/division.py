"""Labelled receptors divided into training, validation and test."""

from collections import defaultdict
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from airrvec.benchmark.fewshot import LabelledReceptors
from airrvec.core import schema

PARTS = ("train", "validation", "test")
NO_ROWS = np.array([], np.int64)


@dataclass(frozen=True)
class Split:
    """
    The labelled receptors of some epitopes, divided.

    Attributes
    ----------
    labelled : LabelledReceptors
        What was divided.
    train, validation, test : dict of str to ndarray
        Sorted row numbers in ``labelled.receptors`` of each epitope's receptors.
    removed : dict
        How many receptors of an epitope were taken out of a part, by reason.
    left_out : dict
        Epitopes that are not divided, each with the reason.
    """

    labelled: LabelledReceptors
    train: dict[str, np.ndarray]
    validation: dict[str, np.ndarray]
    test: dict[str, np.ndarray]
    removed: dict[str, int]
    left_out: dict[str, str]

    @property
    def epitopes(self) -> list[str]:
        """The divided epitopes, sorted."""
        return list(self.train)

    def rows(self, part: str) -> np.ndarray:
        """Sorted row numbers of a part's receptors, all epitopes together."""
        return union(getattr(self, part).values())

    def table(self) -> pa.Table:
        """Return `airrvec.core.schema.SPLIT`: a row a receptor and epitope, its studies joined by ``;``."""
        studies = defaultdict(set)
        for source in self.labelled.sources.to_pylist():
            studies[source["receptor_id"], source["epitope"]].add(source["reference_id"])
        receptor_ids = self.labelled.receptors["receptor_id"].to_pylist()
        rows = [
            {
                "receptor_id": receptor_ids[row],
                "epitope": epitope,
                "reference_id": ";".join(sorted(studies[receptor_ids[row], epitope] - {None})) or None,
                "part": part,
            }
            for epitope in self.epitopes
            for part in PARTS
            for row in getattr(self, part)[epitope]
        ]
        return pa.Table.from_pylist(rows, schema.SPLIT)


def union(arrays) -> np.ndarray:
    return np.unique(np.concatenate([NO_ROWS, *arrays]))
