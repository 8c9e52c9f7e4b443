"""
Training, validation and test receptors of each epitope (paper, Methods, "SCEPTR fine-tuning").

Whichever way the receptors are divided, a receptor has one part: what trains anything validates and
tests nothing, and what validates tests nothing, whatever the epitope.
"""

from collections import defaultdict

import numpy as np
import pyarrow.compute as pc

from airrvec.benchmark.fewshot import LabelledReceptors
from airrvec.benchmark.heldout.division import NO_ROWS, PARTS, Split, union
from airrvec.benchmark.heldout.leaks import check_labels
from airrvec.core.errors import InputError
from airrvec.core.seeds import generator


def study_split(
    labelled: LabelledReceptors, *, per_epitope: int = 200, min_receptors: int = 300, seed: int = 420
) -> Split:
    """
    Training and test receptors of an epitope from different studies (paper, Methods, and its table
    "The different studies that contributed TCR data to the training/validation and test splits").

    An epitope's studies are taken largest first until they hold more than ``per_epitope`` receptors.
    That many of these are drawn for training, the others validate; the remaining studies test. As in
    that table, a study that trains one epitope may test another. A receptor that a
    training study reports too does not test.

    Parameters
    ----------
    labelled : LabelledReceptors
        With ``sources``; a study is a ``reference_id``, and pairs without one have no part.
    per_epitope : int
        Training receptors of an epitope.
    min_receptors : int
        An epitope needs more receptors than this, and more than one study.
    seed : int
        Of the draw, which depends on the epitope's own receptors alone.

    Raises
    ------
    InputError
        If fewer than two epitopes can be divided, or labels differ by case or blanks alone.
    """
    check_labels(labelled)
    named = labelled.sources["reference_id"].drop_null().unique().to_pylist()
    if len(named) < 2:
        come_from = f"all come from one study, '{named[0]}'" if named else "name no study (reference_id)"
        raise InputError(
            f"the labelled receptors {come_from}, so that none can be held out for testing",
            fix="Divide them at random, or give a column 'split' with train, validation and test",
        )
    parts, left_out, n_without_study = {}, {}, 0
    for epitope, studies in _grouped(labelled, "reference_id").items():
        without_study = studies.pop(None, NO_ROWS)
        known = union(studies.values())
        waiting = sorted(studies, key=lambda study: (-len(studies[study]), study))
        learnt = NO_ROWS
        while waiting and len(learnt) <= per_epitope:
            learnt = np.union1d(learnt, studies[waiting.pop(0)])
        if len(known) <= min_receptors:
            left_out[epitope] = (
                f"{len(known)} receptors with a study, and more than {min_receptors} are needed"
            )
        elif len(studies) == 1:
            left_out[epitope] = f"its {len(known)} receptors are all from one study"
        elif len(learnt) <= per_epitope:
            left_out[epitope] = f"{len(known)} receptors, and more than {per_epitope} are needed to train"
        else:
            train = generator(seed, epitope).choice(learnt, per_epitope, replace=False)
            parts[epitope] = {
                "train": train,
                "validation": np.setdiff1d(learnt, train),
                "test": union(studies[study] for study in waiting),
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
    Receptors divided at random, in the same fractions for each epitope.

    Receptors of one study are in all parts, so that a model may profit from what sets studies apart.

    Parameters
    ----------
    labelled : LabelledReceptors
        The table.
    fractions : tuple of float
        For training, validation and testing; their sum is 1.
    min_receptors : int
        An epitope needs as many.
    seed : int
        Of the random order.

    Raises
    ------
    InputError
        If the fractions are no fractions, fewer than two epitopes can be divided, or labels differ by
        case or blanks alone.
    """
    if min(fractions) < 0 or not np.isclose(sum(fractions), 1):
        given = ", ".join(map(str, fractions))
        raise InputError(f"{given} are not the fractions of a whole", fix="Give three numbers whose sum is 1")
    check_labels(labelled)
    parts, left_out, placed = {}, {}, NO_ROWS
    for epitope, rows in labelled.epitopes.items():
        if len(rows) < min_receptors:
            left_out[epitope] = f"{len(rows)} receptors, and {min_receptors} are needed"
            continue
        # A receptor of several epitopes goes with the first.
        order = generator(seed, epitope).permutation(np.setdiff1d(rows, placed))
        bounds = np.rint(np.cumsum(fractions[:2]) * len(order)).astype(int)
        parts[epitope] = dict(zip(PARTS, np.split(order, bounds), strict=True))
        placed = np.union1d(placed, order)
    return _split(labelled, parts, {}, left_out)


def given_split(labelled: LabelledReceptors, column: str = "split") -> Split:
    """
    The user's own division: a column of the labelled table with train, validation and test.

    Parameters
    ----------
    labelled : LabelledReceptors
        With ``sources``; pairs without a part are left out.
    column : str
        A column of ``sources``.

    Raises
    ------
    InputError
        If there is no such column, it holds another word, or fewer than two epitopes have training and
        test receptors, or labels differ by case or blanks alone.
    """
    if column not in labelled.sources.column_names or not labelled.sources[column].drop_null():
        raise InputError(
            f"the labelled table has no column '{column}'",
            fix="Add it, with train, validation or test in each row, or choose another way to divide",
        )
    check_labels(labelled)
    words = labelled.sources[column].value_counts().to_pylist()
    unknown = {item["values"]: item["counts"] for item in words if item["values"] not in (*PARTS, None)}
    if unknown:
        found = ", ".join(f"'{word}' ({count} times)" for word, count in unknown.items())
        raise InputError(f"{found} is no part", column=column, fix=f"Write {', '.join(PARTS)} or nothing")
    parts, n_without_part = {}, 0
    for epitope, groups in _grouped(labelled, column).items():
        without_part = groups.pop(None, NO_ROWS)
        n_without_part += len(np.setdiff1d(without_part, union(groups.values())))
        parts[epitope] = groups
    return _split(labelled, parts, {"without a part": n_without_part}, {})


def _grouped(labelled: LabelledReceptors, column: str) -> dict[str, dict[str | None, np.ndarray]]:
    """Epitope → value of a column of ``sources`` → sorted rows."""
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
    """A receptor's first part is its only one; epitopes without training or test receptors are left out."""
    taken, divided, n_removed = NO_ROWS, {}, {}
    for part in PARTS:
        rows = {epitope: np.unique(groups.get(part, NO_ROWS)) for epitope, groups in parts.items()}
        divided[part] = {epitope: np.setdiff1d(members, taken) for epitope, members in rows.items()}
        n_removed[part] = sum(len(rows[epitope]) - len(divided[part][epitope]) for epitope in parts)
        taken = np.union1d(taken, union(divided[part].values()))
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
    others = ""
    if split.left_out:
        largest = max(split.left_out, key=lambda epitope: len(split.labelled.epitopes[epitope]))
        others = f"; of the others the largest is {largest}: {split.left_out[largest]}"
    return InputError(
        f"specificity needs at least two epitopes, and {usable} can be divided{others}",
        fix="Label more receptors, ask for fewer of an epitope, or divide them in another way",
    )
