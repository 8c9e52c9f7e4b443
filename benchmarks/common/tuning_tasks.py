"""Receptors to train and to test fine-tuning recipes on: splits by time and by study, with several seeds."""

import tempfile
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from airrvec.evaluation import fewshot
from airrvec.evaluation.heldout import gains
from airrvec.evaluation.heldout.gains import Tests
from airrvec.evaluation.heldout.splits import PARTS, Split, check_leaks, study_split

import numpy as np

from benchmarks.common.material import normalised
from benchmarks.common.time_split import is_earlier, time_split

MOST_FURTHER = 120  # receptors of a further epitope, by study: epitopes with more stay untrained


@dataclass(frozen=True)
class Task:
    """
    Receptors to train and to test on, the same for all recipes.

    Attributes
    ----------
    kind, seed
        ``time`` or ``study``, and the seed of the draw of training receptors.
    split : Split
        Epitopes that are trained and tested.
    further : dict of str to ndarray
        Epitope → rows of its receptors, which only recipes of many epitopes train on.
    """

    kind: str
    seed: int
    split: Split
    further: dict[str, np.ndarray]

    @property
    def tests(self) -> Tests:
        """Positives, negatives and studies of the test receptors."""
        return gains.tests(self.split)

    @property
    def untrained(self) -> Split:
        """The split for epitopes that no recipe trains: the further ones count as trained."""
        return replace(self.split, train={**self.split.train, **self.further})


def make_tasks(args) -> list[Task]:
    """Return the tasks of all splits and seeds, of the labelled table without 10x Genomics."""
    with tempfile.TemporaryDirectory() as folder:
        cells, receptors = normalised(args.labelled.resolve(), Path(folder))
    labelled = fewshot.select_labelled(
        cells, receptors, species="homosapiens", exclude_references="10xgenomics"
    )
    tasks = []
    for kind in args.splits:
        for seed in args.seeds:
            if kind == "time":
                split = time_split(
                    labelled, cut=args.cut, per_epitope=args.per_epitope, min_train=args.min_train,
                    min_test=args.min_test, seed=seed,
                )  # fmt: skip
            else:
                split = study_split(
                    labelled, per_epitope=args.per_epitope, min_receptors=args.min_receptors, seed=seed
                )
            check_leaks(split)
            tasks.append(Task(kind, seed, split, further_epitopes(args, kind, split)))
    return tasks


def further_epitopes(args, kind: str, split: Split) -> dict[str, np.ndarray]:
    """
    Return training receptors of epitopes that are not in the split, from studies without test receptors.

    By time, they are of earlier studies. By study, epitopes with more than `MOST_FURTHER` receptors stay
    untrained.
    """
    sources = split.labelled.sources
    tested = {None, *gains.test_studies(split)}
    usable = np.array([study not in tested for study in sources["reference_id"].to_pylist()])
    if kind == "time":
        usable &= is_earlier(sources, args.cut) == 1
    row = {name: number for number, name in enumerate(split.labelled.receptors["receptor_id"].to_pylist())}
    rows = defaultdict(list)
    for receptor, epitope, use in zip(
        sources["receptor_id"].to_pylist(), sources["epitope"].to_pylist(), usable.tolist(), strict=True
    ):
        if use and epitope not in split.train:
            rows[epitope].append(row[receptor])
    held_out = np.union1d(split.rows("validation"), split.rows("test"))
    further = {epitope: np.setdiff1d(members, held_out) for epitope, members in rows.items()}
    most = np.inf if kind == "time" else MOST_FURTHER
    return {
        epitope: members
        for epitope, members in sorted(further.items())
        if len(members) >= args.further and len(split.labelled.epitopes[epitope]) <= most
    }


def described(task: Task, tests: Tests) -> dict[str, Any]:
    """Return the sizes of a task."""
    split = task.split
    return {
        "split": task.kind,
        "seed": task.seed,
        "epitopes": [
            {"epitope": epitope, **{part: len(getattr(split, part)[epitope]) for part in PARTS}}
            for epitope in split.epitopes
        ],
        "further": {epitope: len(rows) for epitope, rows in task.further.items()},
        "removed": split.removed,
        "test_receptors": len(tests.studies),
        "test_studies": dict(zip(tests.names, np.bincount(tests.studies).tolist(), strict=True)),
    }
