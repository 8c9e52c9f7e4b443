"""
Split labelled receptors into training, validation and test (paper, Methods, "SCEPTR fine-tuning").

The receptors are clonotypes (`airrvec.evaluation.fewshot.one_per_clonotype`). Each belongs to one part,
whatever its epitopes, studies and alleles: training receptors are excluded from validation and test, and
validation receptors from test.
"""

from collections import defaultdict
from dataclasses import dataclass, replace

from airrvec.core import schema
from airrvec.core.errors import InputError
from airrvec.core.seeds import generator
from airrvec.core.terminal import counted
from airrvec.evaluation.fewshot import LabelledReceptors, one_per_clonotype
from airrvec.evaluation.similarity import similar_pairs
from airrvec.evaluation.training_labels import TrainingLabels

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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


# --- Checks of a split: training clonotypes in the test set, similar receptors, ambiguous labels

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
        (`airrvec.evaluation.similarity.similar_pairs`). None removes no receptor.

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


# --- Split labelled receptors into training, validation and test (paper, Methods, "SCEPTR fine-tuning")


def study_split(
    labelled: LabelledReceptors, *, per_epitope: int = 200, min_receptors: int = 300, seed: int = 420
) -> Split:
    """
    Split by study: training and test receptors of an epitope come from different studies (paper, Methods,
    and its table "The different studies that contributed TCR data to the training/validation and test
    splits").

    The studies of an epitope are collected, largest first, until they have more than ``per_epitope``
    receptors. ``per_epitope`` of these are drawn for training, the others are for validation, and the
    remaining studies are for testing. As in that table, a study may be in training for one epitope and in
    test for another. A receptor that a training study also reports is excluded from the test set.

    Parameters
    ----------
    labelled : LabelledReceptors
        With ``sources``; a study is a ``reference_id``, and pairs without one are excluded.
    per_epitope : int
        Training receptors of an epitope.
    min_receptors : int
        An epitope needs more receptors than this, and more than one study.
    seed : int
        Seed of the draw, which depends only on the epitope's own receptors.

    Raises
    ------
    InputError
        If fewer than two epitopes can be split, or labels differ only in case or blanks.
    """
    check_labels(labelled)
    labelled = one_per_clonotype(labelled)
    reported = labelled.sources["reference_id"].drop_null().unique().to_pylist()
    if len(reported) < 2:
        come_from = (
            f"all come from one study, '{reported[0]}'" if reported else "name no study (reference_id)"
        )
        raise InputError(
            f"the labelled receptors {come_from}, so that none can be held out for testing",
            fix="Divide them at random, or give a column 'split' with train, validation and test",
        )
    parts, left_out, n_without_study = {}, {}, 0
    for epitope, studies in _grouped(labelled, "reference_id").items():
        without_study = studies.pop(None, NO_ROWS)
        known = union_rows(studies.values())
        waiting = sorted(studies, key=lambda study: (-len(studies[study]), study))
        learnt = NO_ROWS
        while waiting and len(learnt) <= per_epitope:
            learnt = np.union1d(learnt, studies[waiting.pop(0)])
        n = counted(len(known), "receptor")
        if len(known) <= min_receptors:
            left_out[epitope] = f"{n} with a study, and more than {min_receptors} are needed"
        elif len(studies) == 1:
            left_out[epitope] = f"{n}, all from one study"
        elif len(learnt) <= per_epitope:
            left_out[epitope] = f"{n}, and more than {per_epitope} are needed to train"
        else:
            train = generator(seed, epitope).choice(learnt, per_epitope, replace=False)
            parts[epitope] = {
                "train": train,
                "validation": np.setdiff1d(learnt, train),
                "test": union_rows(studies[study] for study in waiting),
            }
            n_without_study += len(np.setdiff1d(without_study, known))
    return _split(labelled, parts, {"without a study": n_without_study}, left_out)


def random_split(
    labelled: LabelledReceptors,
    *,
    fractions: tuple[float, float, float] = (0.7, 0.1, 0.2),
    min_receptors: int = 20,
    seed: int = 420,
) -> Split:
    """
    Split at random, in the same fractions for each epitope.

    A study may have receptors in all parts, so that a model may profit from differences between studies.

    Parameters
    ----------
    labelled : LabelledReceptors
        Receptors to split.
    fractions : tuple of float
        For training, validation and testing; their sum is 1.
    min_receptors : int
        Smallest number of receptors of an epitope.
    seed : int
        Seed of the random order.

    Raises
    ------
    InputError
        If a fraction is negative or the sum is not 1, fewer than two epitopes can be split, or labels differ
        only in case or blanks.
    """
    if min(fractions) < 0 or not np.isclose(sum(fractions), 1):
        listed = ", ".join(map(str, fractions))
        raise InputError(
            f"the fractions {listed} are invalid", fix="Give three numbers from 0 to 1 whose sum is 1"
        )
    check_labels(labelled)
    labelled = one_per_clonotype(labelled)
    parts, left_out, assigned = {}, {}, NO_ROWS
    for epitope, rows in labelled.epitopes.items():
        if len(rows) < min_receptors:
            left_out[epitope] = f"{counted(len(rows), 'receptor')}, and {min_receptors} are needed"
            continue
        # A receptor of several epitopes is assigned to the first.
        order = generator(seed, epitope).permutation(np.setdiff1d(rows, assigned))
        bounds = np.rint(np.cumsum(fractions[:2]) * len(order)).astype(int)
        parts[epitope] = dict(zip(PARTS, np.split(order, bounds), strict=True))
        assigned = np.union1d(assigned, order)
    return _split(labelled, parts, {}, left_out)


def column_split(labelled: LabelledReceptors, column: str = "split") -> Split:
    """
    Split by a column of the labelled table that holds train, validation or test.

    Parameters
    ----------
    labelled : LabelledReceptors
        With ``sources``; pairs without a part are excluded.
    column : str
        Column of ``sources``.

    Raises
    ------
    InputError
        If the column is missing or has another value, fewer than two epitopes have training and test
        receptors, or labels differ only in case or blanks.
    """
    if column not in labelled.sources.column_names or not labelled.sources[column].drop_null():
        raise InputError(
            f"the labelled table has no column '{column}'",
            fix="Add it, with train, validation or test in each row, or choose another kind of split",
        )
    check_labels(labelled)
    labelled = one_per_clonotype(labelled)
    words = labelled.sources[column].value_counts().to_pylist()
    unknown = {item["values"]: item["counts"] for item in words if item["values"] not in (*PARTS, None)}
    if unknown:
        listed = ", ".join(f"'{word}' ({counted(count, 'time')})" for word, count in unknown.items())
        raise InputError(
            f"{listed} is not a part of a split", column=column, fix=f"Write {', '.join(PARTS)} or nothing"
        )
    parts, n_without_part = {}, 0
    for epitope, groups in _grouped(labelled, column).items():
        without_part = groups.pop(None, NO_ROWS)
        n_without_part += len(np.setdiff1d(without_part, union_rows(groups.values())))
        parts[epitope] = groups
    return _split(labelled, parts, {"without a part": n_without_part}, {})


def _grouped(labelled: LabelledReceptors, column: str) -> dict[str, dict[str | None, np.ndarray]]:
    """Return epitope → value in a column of ``sources`` → sorted rows."""
    sources = labelled.sources
    rows = pc.index_in(sources["receptor_id"], labelled.receptors["receptor_id"].combine_chunks())
    groups = defaultdict(lambda: defaultdict(set))
    for row, epitope, value in zip(
        *(values.to_pylist() for values in (rows, sources["epitope"], sources[column])), strict=True
    ):
        groups[epitope][value].add(row)
    return {
        epitope: {value: np.array(sorted(members)) for value, members in groups[epitope].items()}
        for epitope in sorted(groups)
    }


def _split(labelled, parts: dict[str, dict], removed: dict[str, int], left_out: dict[str, str]) -> Split:
    """
    Return the split with each receptor in one part only, the first in the order of `PARTS`.

    Epitopes without training or test receptors are excluded.
    """
    assigned, divided, n_removed = NO_ROWS, {}, {}
    for part in PARTS:
        rows = {epitope: np.unique(groups.get(part, NO_ROWS)) for epitope, groups in parts.items()}
        divided[part] = {epitope: np.setdiff1d(members, assigned) for epitope, members in rows.items()}
        n_removed[part] = sum(len(rows[epitope]) - len(divided[part][epitope]) for epitope in parts)
        assigned = np.union1d(assigned, union_rows(divided[part].values()))
    removed = {
        **removed,
        "validation receptors that also train": n_removed["validation"],
        "test receptors that also train or validate": n_removed["test"],
    }
    empty = {
        epitope: f"no receptors to {'train' if not len(divided['train'][epitope]) else 'test'}"
        for epitope in parts
        if not len(divided["train"][epitope]) or not len(divided["test"][epitope])
    }
    divided = {
        part: {epitope: rows for epitope, rows in epitopes.items() if epitope not in empty}
        for part, epitopes in divided.items()
    }
    split = Split(labelled, **divided, removed=removed, left_out={**left_out, **empty})
    if len(split.epitopes) < 2:
        raise _too_few(split)
    return split


def _too_few(split: Split) -> InputError:
    usable = f"only {split.epitopes[0]}" if split.epitopes else "none"
    rest = ""
    if split.left_out:
        largest = max(split.left_out, key=lambda epitope: len(split.labelled.epitopes[epitope]))
        rest = f"; of the others the largest is {largest}: {split.left_out[largest]}"
    return InputError(
        f"specificity needs at least two epitopes, and {usable} can be divided{rest}",
        fix="Label more receptors, require fewer per epitope, or choose another kind of split",
    )
