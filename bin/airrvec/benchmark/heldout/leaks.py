"""Receptors and labels that would spoil a split: those of training, leaks, contradictions."""

from collections import defaultdict
from dataclasses import replace

import numpy as np

from airrvec.benchmark.fewshot import LabelledReceptors
from airrvec.benchmark.heldout.division import Split
from airrvec.benchmark.similarity import similar_pairs
from airrvec.benchmark.training_labels import TrainingLabels
from airrvec.core.errors import InputError

SEEN_BY_START = "test receptors that the start has been trained on"


def check_leaks(split: Split, similarity: float | None = None) -> dict[str, np.ndarray]:
    """
    Test receptors that training has not seen, nor any as similar (paper, Fig. "Supervised contrastive
    learning improves performance also when filtering highly similar TCRs from the test set").

    Parameters
    ----------
    split : Split
        The division.
    similarity : float, optional
        Identity (`airrvec.benchmark.similarity.similar_pairs`) from which a test receptor is removed, such as
        0.9; without it none is.

    Returns
    -------
    dict of str to ndarray
        Rows of each epitope's remaining test receptors.

    Raises
    ------
    InputError
        If a receptor both trains and tests.
    """
    both = np.intersect1d(split.rows("train"), split.rows("test"))
    if len(both):
        receptor_id = split.labelled.receptors["receptor_id"][int(both[0])].as_py()
        raise InputError(
            f"receptors in training and in test: {len(both)}, the first is {receptor_id}",
            fix="Leave them out of one of the two",
        )
    if similarity is None:
        return split.test
    tests = split.rows("test")
    seen = tests[
        similar_pairs(split.labelled.receptors, split.rows("train"), tests, similarity).sum(axis=0) > 0
    ]
    return {epitope: np.setdiff1d(rows, seen) for epitope, rows in split.test.items()}


def without_seen(split: Split, labels: TrainingLabels) -> Split:
    """
    The split without test receptors that models have been trained on.

    Parameters
    ----------
    split : Split
        The division.
    labels : TrainingLabels
        What the start of fine-tuning has been trained on.

    Raises
    ------
    InputError
        If an epitope has no test receptor left.
    """
    seen = np.flatnonzero(labels.include(split.labelled.receptors))
    test = {epitope: np.setdiff1d(rows, seen) for epitope, rows in split.test.items()}
    for epitope, rows in test.items():
        if not len(rows):
            raise InputError(
                f"the start has been trained on all {len(split.test[epitope])} test receptors of {epitope}",
                fix="Start from another model, or divide the receptors as they were divided for it",
            )
    removed = sum(map(len, split.test.values())) - sum(map(len, test.values()))
    return replace(split, test=test, removed={**split.removed, SEEN_BY_START: removed})


def check_labels(labelled: LabelledReceptors) -> None:
    """
    Find epitopes that are most likely one, spelt in two ways.

    Raises
    ------
    InputError
        If labels differ by case or blanks alone.
    """
    spellings = defaultdict(list)
    for epitope in labelled.epitopes:
        spellings["".join(epitope.split()).casefold()].append(epitope)
    for names in spellings.values():
        if len(names) > 1:
            found = " and ".join(f"'{name}' ({len(labelled.epitopes[name])} receptors)" for name in names)
            raise InputError(
                f"the epitopes {found} differ by case or blanks alone",
                column="epitope",
                fix="Spell them alike if they are one epitope, and further apart if not",
            )
