"""Checks of a split: training clonotypes in the test set, similar receptors, ambiguous labels."""

from collections import defaultdict
from dataclasses import replace

from airrvec.benchmark.fewshot import LabelledReceptors
from airrvec.benchmark.heldout.division import Split
from airrvec.benchmark.similarity import similar_pairs
from airrvec.benchmark.training_labels import TrainingLabels
from airrvec.core.errors import InputError
from airrvec.core.plural import counted

import numpy as np

# The start is the model that fine-tuning starts from.
SEEN_BY_START = "test receptors that the start has been trained on"


def check_leaks(split: Split, similarity: float | None = None) -> dict[str, np.ndarray]:
    """
    Return the test receptors without those similar to a training receptor (paper, Fig. "Supervised
    contrastive learning improves performance also when filtering highly similar TCRs from the test set").

    Parameters
    ----------
    split : Split
        Split to check.
    similarity : float, optional
        Test receptors with at least this identity to a training receptor are removed, such as 0.9
        (`airrvec.benchmark.similarity.similar_pairs`). None removes no receptor.

    Returns
    -------
    dict of str to ndarray
        Epitope → rows of its remaining test receptors.

    Raises
    ------
    InputError
        If a clonotype is in both training and test.
    """
    ids = np.array(split.labelled.receptors["clonotype_id"].to_pylist())
    both = np.intersect1d(ids[split.rows("train")], ids[split.rows("test")])
    if len(both):
        raise InputError(
            f"clonotypes in training and in test: {len(both)}, the first is {both[0]}",
            fix="Remove them from one of the two",
        )
    if similarity is None:
        return split.test
    tests = split.rows("test")
    similar = tests[
        similar_pairs(split.labelled.receptors, split.rows("train"), tests, similarity).sum(axis=0) > 0
    ]
    return {epitope: np.setdiff1d(rows, similar) for epitope, rows in split.test.items()}


def exclude_trained_on(split: Split, labels: TrainingLabels) -> Split:
    """
    Return the split without test receptors that the starting model was trained on.

    Parameters
    ----------
    split : Split
        Split to filter.
    labels : TrainingLabels
        Training receptors of the model that fine-tuning starts from.

    Raises
    ------
    InputError
        If an epitope has no test receptor left.
    """
    trained_on = np.flatnonzero(labels.include(split.labelled.receptors))
    test = {epitope: np.setdiff1d(rows, trained_on) for epitope, rows in split.test.items()}
    for epitope, rows in test.items():
        if not len(rows):
            raise InputError(
                f"the starting model was trained on all test receptors of {epitope}"
                f" ({len(split.test[epitope])})",
                fix="Start from another model, or use the split that this model was trained with",
            )
    removed = sum(map(len, split.test.values())) - sum(map(len, test.values()))
    return replace(split, test=test, removed={**split.removed, SEEN_BY_START: removed})


def check_labels(labelled: LabelledReceptors) -> None:
    """
    Check that no epitope has two spellings.

    Raises
    ------
    InputError
        If labels differ only in case or blanks.
    """
    spellings = defaultdict(list)
    for epitope in labelled.epitopes:
        spellings["".join(epitope.split()).casefold()].append(epitope)
    for names in spellings.values():
        if len(names) > 1:
            listed = " and ".join(
                f"'{name}' ({counted(len(labelled.epitopes[name]), 'receptor')})" for name in names
            )
            raise InputError(
                f"the epitopes {listed} differ only in case or blanks",
                column="epitope",
                fix="Use one spelling if they are one epitope, or more distinct names if not",
            )
