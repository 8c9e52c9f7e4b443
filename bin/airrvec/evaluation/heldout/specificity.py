"""
Discrimination between receptors of a few epitopes (paper, "Supervised contrastive learning as a
fine-tuning strategy").

The training receptors of a split are the references. Test receptors of one epitope are ranked against test
receptors of the other epitopes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airrvec import encoders
from airrvec.core import schema
from airrvec.encoders import distance_rows
from airrvec.encoders.combined import Embedded, Sum
from airrvec.evaluation import fewshot, scoring
from airrvec.evaluation.heldout import gains
from airrvec.evaluation.heldout.splits import Split, check_leaks
from airrvec.evaluation.rules import DISTANCE_RULES, KERNEL, contrast, soft_nearest_neighbour
from airrvec.evaluation.similarity import LEAST_IDENTITY
from airrvec.stats import metrics

import numpy as np
import pyarrow as pa
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

RESAMPLES = 1000  # of the test receptors, for the interval of a gain
GENES = tuple(schema.field(locus, name) for locus in schema.LOCI for name in ("v_call", "j_call"))


@dataclass(frozen=True)
class Measured:
    """
    Models on the held-out receptors of a split.

    Attributes
    ----------
    tested : pyarrow.Table
        `evaluate` of all models, after `gene_baseline` and TCRdist.
    unseen : pyarrow.Table
        `evaluate_unseen_epitopes` of all models, after TCRdist.
    gain : dict or None
        `airrvec.evaluation.heldout.gains.Gain.row` of the last model beside the first one by the rule
        `contrast`, and the number of ``studies`` of the test receptors. None for one model, or if an epitope
        has no test receptors.
    """

    tested: pa.Table
    unseen: pa.Table
    gain: dict[str, Any] | None


def measure(models: Mapping[str, str], split: Split, *, seed: int) -> Measured:
    """
    Measure models on a split, each by itself and with TCRdist (`airrvec.encoders.combined.Sum`).

    Parameters
    ----------
    models : mapping
        Name in the tables → name or folder of a model, as for `airrvec.encoders.load`.
    split : Split
        A model must not have been trained on its test receptors (`airrvec.evaluation.heldout.splits`).
    seed : int
        As for `evaluate_unseen_epitopes`.

    Examples
    --------
    A folder of another training, on the receptors of the column ``split`` of a labelled table:

    >>> split = splits.column_split(fewshot.select_labelled(cells, receptors))  # doctest: +SKIP
    >>> measure({"mine": "models/mine"}, split, seed=420).tested  # doctest: +SKIP
    """
    receptors, tcrdist = split.labelled.receptors, encoders.load("tcrdist")
    tables, unseen, contrasts = [gene_baseline(split)], [], []

    def add(encoder, label: str) -> np.ndarray:
        kernel = scoring.Distances(encoder, receptors, None).kernel
        scores = rule_scores(encoder, split, kernel=kernel)
        tables.append(_table(label, split, scores))
        rules = ("contrast", *scoring.PAPER_RULES)
        unseen.append(evaluate_unseen_epitopes(encoder, label, split, seed=seed, rules=rules))
        return scores["contrast"]

    add(tcrdist, "tcrdist")
    for name, source in models.items():
        embedded = Embedded(encoders.load(source), receptors)
        contrasts.append(add(embedded, name))
        add(Sum([embedded, tcrdist]), f"{name}+tcrdist")
    gain = _gain(contrasts[0], contrasts[-1], split) if len(contrasts) > 1 else None
    return Measured(pa.concat_tables(tables), pa.concat_tables(unseen), gain)


def _gain(before: np.ndarray, after: np.ndarray, split: Split) -> dict[str, Any] | None:
    """Return the difference of two models' scores of the test receptors, with its interval over studies."""
    tests = gains.tests(split)
    if not all(map(len, (*tests.positives, *tests.negatives))):
        return None
    gain = gains.gain([before], [after], tests, gains.resample(tests, RESAMPLES))
    return {**gain.row(), "studies": len(gains.test_studies(split))}


def evaluate(encoder, name: str, split: Split) -> pa.Table:
    """
    Return the AUROC of each epitope of a split against the others, by every distance rule.

    Parameters
    ----------
    encoder
        From `airrvec.encoders.load`.
    name : str
        Encoder name in the table.
    split : Split
        Training receptors are the references, test receptors are ranked.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.SPECIFICITY`. The mean is over all epitopes, and null if an epitope has no
        positive or no negative left in a test set.
    """
    return _table(name, split, rule_scores(encoder, split))


def rule_scores(
    encoder, split: Split, rules: tuple[str, ...] = tuple(DISTANCE_RULES), *, kernel: float = KERNEL
) -> dict[str, np.ndarray]:
    """
    Return the scores of the test receptors of a split for each epitope; lower is nearer.

    Parameters
    ----------
    encoder, split
        As for `evaluate`.
    rules : tuple of str
        Names in `airrvec.evaluation.rules.DISTANCE_RULES`.
    kernel : float
        Kernel width of the rules that have one, in the unit of the distances.

    Returns
    -------
    dict of str to ndarray, shape (n_epitopes, n_test)
        In the order of ``split.epitopes`` and ``split.rows("test")``.
    """
    train, test = split.rows("train"), split.rows("test")
    receptors = split.labelled.receptors.take(pa.array(np.concatenate([train, test])))
    train_rows = distance_rows(encoder, receptors)(np.arange(len(train)))
    distances = train_rows[:, len(train) :].T  # (n_test, n_train)
    references = [np.searchsorted(train, split.train[epitope]) for epitope in split.epitopes]
    scores = {}
    for rule in rules:
        combine = DISTANCE_RULES[rule].score
        options = {"kernel": kernel} if combine in (soft_nearest_neighbour, contrast) else {}
        scores[rule] = np.stack([combine(distances[:, rows], distances, **options) for rows in references])
    return scores


def gene_baseline(split: Split) -> pa.Table:
    """
    Return the same AUROCs for a logistic regression on one-hot V and J genes.

    This is the baseline that a model of sequences has to exceed. Alleles are excluded: whether they are
    reported depends on the study, and a regression on alleles performs worse in other studies.

    Parameters
    ----------
    split : Split
        Training receptors fit the regression, test receptors are ranked.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.SPECIFICITY`, ``encoder`` ``v_j_genes``, ``rule`` ``logistic_regression``.
    """
    columns = [split.labelled.receptors[name].to_pylist() for name in GENES]
    genes = np.array([[call.split("*")[0] for call in calls] for calls in zip(*columns, strict=True)])
    rows = np.concatenate([split.train[epitope] for epitope in split.epitopes])
    labels = np.repeat(split.epitopes, [len(split.train[epitope]) for epitope in split.epitopes])
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000))
    probabilities = model.fit(genes[rows], labels).predict_proba(genes[split.rows("test")])
    order = np.searchsorted(model.classes_, split.epitopes)
    return _table("v_j_genes", split, {"logistic_regression": -probabilities.T[order]})


def evaluate_unseen_epitopes(
    encoder,
    name: str,
    split: Split,
    *,
    ks: tuple[int, ...] = (1, 2, 5, 10, 20),
    min_binders: int = 120,
    n_splits: int = 100,
    seed: int = 420,
    rules: tuple[str, ...] = scoring.PAPER_RULES,
) -> pa.Table:
    """
    Return the few-shot benchmark on epitopes outside the split, by the paper's rules (its Fig. "Benchmarking
    fine-tuned SCEPTR on TCR specificity prediction for unseen pMHCs").

    All receptors of the table are ranked, as in the paper. The negatives therefore include training and
    validation receptors of other epitopes, which a fine-tuned model may separate from all others because it
    was trained on them. The test set `airrvec.core.schema.NOT_TRAINED` excludes them.

    Parameters
    ----------
    encoder, name, split
        As for `evaluate`.
    ks : tuple of int
        Numbers of references. At least ``min_binders - max(ks)`` binders remain for testing.
    min_binders : int
        An epitope needs more receptors than this.
    n_splits, seed : int
        As for `airrvec.evaluation.fewshot.plan_splits`.
    rules : tuple of str
        Names in `airrvec.evaluation.rules.RULES`.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.AUROC`, test sets ``all`` and ``not_trained``; no rows if no epitope has enough
        receptors.
    """
    unseen = {
        epitope: rows
        for epitope, rows in split.labelled.epitopes.items()
        if epitope not in split.train and len(rows) > min_binders
    }
    labelled = replace(split.labelled, epitopes=unseen)
    planned, _ = fewshot.plan_splits(
        labelled, ks=list(ks), n_splits=n_splits, min_positives=min_binders - max(ks), seed=seed
    )
    learnt = np.union1d(split.rows("train"), split.rows("validation"))
    never_tested = {schema.NOT_TRAINED: learnt}
    scores = scoring.score(encoder, name, labelled, planned, rules=rules, never_tested=never_tested)
    return scores.auroc


def _table(name: str, split: Split, scores: dict[str, np.ndarray]) -> pa.Table:
    """Return the table of AUROCs; ``scores``: rule → (n_epitopes, n_test), lower is nearer."""
    test = split.rows("test")
    kept = {test_set: check_leaks(split, similarity) for test_set, similarity in LEAST_IDENTITY.items()}
    rows = []
    for rule, rule_scores in scores.items():
        for test_set, tests in kept.items():
            tested = np.unique(np.concatenate(list(tests.values())))
            group = []
            for epitope, score in zip(split.epitopes, rule_scores, strict=True):
                # A cross-reactive receptor is not a negative for any epitope that it binds.
                negatives = np.setdiff1d(tested, split.labelled.epitopes[epitope])
                positive_scores, negative_scores = (
                    score[np.searchsorted(test, members)] for members in (tests[epitope], negatives)
                )
                measurable = len(positive_scores) and len(negative_scores)
                value = metrics.auroc(positive_scores, negative_scores) if measurable else None
                group.append((epitope, value, len(positive_scores), len(negative_scores)))
            values = [value for _, value, _, _ in group if value is not None]
            mean = float(np.mean(values)) if len(values) == len(group) else None
            rows += [(name, rule, test_set, *row) for row in (*group, (schema.MEAN, mean, None, None))]
    names = schema.SPECIFICITY.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema.SPECIFICITY)
