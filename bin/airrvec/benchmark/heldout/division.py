"""The split of labelled receptors into training, validation and test."""

from collections import defaultdict
from dataclasses import dataclass

from airrvec.benchmark.fewshot import LabelledReceptors
from airrvec.core import schema

import numpy as np
import pyarrow as pa

PARTS = ("train", "validation", "test")
NO_ROWS = np.array([], np.int64)


@dataclass(frozen=True)
class Split:
    """
    Labelled receptors of some epitopes, split into training, validation and test.

    Attributes
    ----------
    labelled : LabelledReceptors
        Receptors before the split, one per clonotype.
    train, validation, test : dict of str to ndarray
        Epitope → sorted row numbers of its receptors in ``labelled.receptors``.
    removed : dict
        Reason → number of pairs of receptor and epitope removed from a part.
    left_out : dict
        Epitope that is not split → reason.
    """

    labelled: LabelledReceptors
    train: dict[str, np.ndarray]
    validation: dict[str, np.ndarray]
    test: dict[str, np.ndarray]
    removed: dict[str, int]
    left_out: dict[str, str]

    @property
    def epitopes(self) -> list[str]:
        """The epitopes that are split, sorted."""
        return list(self.train)

    def rows(self, part: str) -> np.ndarray:
        """Return the sorted row numbers of a part's receptors, over all epitopes."""
        return union_rows(getattr(self, part).values())

    def table(self) -> pa.Table:
        """Return `airrvec.core.schema.SPLIT`: one row per clonotype and epitope, studies joined by ``;``."""
        studies = defaultdict(set)
        for source in self.labelled.sources.to_pylist():
            studies[source["receptor_id"], source["epitope"]].add(source["reference_id"])
        receptors = self.labelled.receptors.select(["receptor_id", "clonotype_id"]).to_pylist()
        rows = [
            {
                **receptors[row],
                "epitope": epitope,
                "reference_id": ";".join(sorted(studies[receptors[row]["receptor_id"], epitope] - {None}))
                or None,
                "part": part,
            }
            for epitope in self.epitopes
            for part in PARTS
            for row in getattr(self, part)[epitope]
        ]
        return pa.Table.from_pylist(rows, schema.SPLIT)


def union_rows(arrays) -> np.ndarray:
    return np.unique(np.concatenate([NO_ROWS, *arrays]))
