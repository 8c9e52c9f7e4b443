"""Cross-validation over studies, scorer and calibration fitted by it, and the performance that it shows."""

from dataclasses import dataclass

from airrvec.annotation import scorer
from airrvec.annotation.evidence import (
    NAMES,
    Candidates,
    Evidence,
    Sources,
    binds_epitope,
    collect_evidence,
    first_candidates,
    no_candidates,
    rescore,
    stacked,
)
from airrvec.annotation.holes import expected_recall, outlook
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.annotation.scorer import CalibrationScores, Scorer, brier_score, cross_validated_probabilities
from airrvec.core import schema
from airrvec.core.progress import step
from airrvec.core.runtime import in_threads
from airrvec.core.seeds import generator
from airrvec.core.tables import named_rows
from airrvec.core.terminal import counted

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

N_FOLDS = 5


def assign_folds(reference: ReferenceSet, *, seed: int) -> tuple[np.ndarray, bool]:
    """
    Assign studies to folds of similar size: largest study first, each into the smallest fold.

    With fewer than two studies, receptors are assigned to folds at random.

    Returns
    -------
    folds : ndarray of bool, shape (n_receptors, N_FOLDS)
        Whether a study of the fold reports the receptor.
    by_study : bool
        False if receptors were assigned at random.
    """
    if len(reference.study_names) < 2:
        fold = generator(seed, "folds").permutation(len(reference)) % N_FOLDS
        return fold[:, None] == np.arange(N_FOLDS), False
    members = sparse.csr_array(study_folds(reference)[:, None] == np.arange(N_FOLDS), dtype=np.float32)
    return (reference.studies @ members).toarray() > 0, True


def study_folds(reference: ReferenceSet, scale: np.ndarray | float = 1.0) -> np.ndarray:
    """
    Return the fold of each study, of similar sizes: largest study first, each into the smallest fold.

    ``scale``, shape (n_studies,), multiplies the sizes, for other divisions of the same studies.
    """
    sizes = np.asarray(reference.studies.sum(axis=0)).ravel() * scale
    filled, fold_of = np.zeros(N_FOLDS), np.zeros(len(sizes), np.int64)
    for study in np.argsort(-sizes, kind="stable"):
        fold_of[study] = filled.argmin()
        filled[fold_of[study]] += sizes[study]
    return fold_of


@step("comparison of labelled receptors with those of other studies")
def evidence_by_fold(
    sources: Sources, threshold: float, *, seed: int = 420
) -> tuple[pd.DataFrame, list[Evidence]]:
    """
    Collect the evidence for each labelled receptor from references of other studies.

    Studies are divided into `assign_folds`. A receptor of the held-out fold is compared with the receptors
    that no study of this fold reports. Receptors of several folds are excluded as queries, because their
    other studies would be references.

    Parameters
    ----------
    sources : Sources
    threshold : float
        As in `airrvec.annotation.evidence.rescore`.

    Returns
    -------
    queries : DataFrame
        One row per query, in the order of the folds: ``row`` in the reference, ``fold``, ``reachable`` (at
        least one of its epitopes has enough references in the other folds).
    evidence : list of Evidence
        For the queries of each fold that has any.
    """
    reference = sources.reference
    vectors = sources.vectors[sources.chains]
    folds, whole_studies = assign_folds(reference, seed=seed)
    in_one_fold = folds.sum(axis=1) == 1
    fold_of_study = study_folds(reference)
    parts, fold_evidence = [_NO_QUERIES], []
    for fold in range(N_FOLDS):
        held_out, remaining = np.flatnonzero(folds[:, fold]), np.flatnonzero(~folds[:, fold])
        query_rows = np.flatnonzero(folds[:, fold] & in_one_fold & np.isfinite(vectors).all(axis=1))
        if not len(query_rows) or not len(remaining):
            continue
        names = {
            name
            for name, study_fold in zip(reference.study_names, fold_of_study, strict=True)
            if study_fold == fold
        }
        left = sources.without(held_out, names if whole_studies else None)
        query_receptors = reference.receptors.take(pa.array(query_rows))
        fold_evidence.append(collect_evidence(left, query_receptors, vectors[query_rows], threshold))
        possible = np.zeros(len(reference.epitopes), np.float32)
        possible[left.candidates] = 1
        columns = {"row": query_rows, "fold": fold, "reachable": reference.labels[query_rows] @ possible > 0}
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True).astype(_NO_QUERIES.dtypes), fold_evidence


_NO_QUERIES = pd.DataFrame(
    {"row": np.empty(0, np.int64), "fold": np.empty(0, np.int64), "reachable": np.empty(0, bool)}
)


# --- Scorer and calibration of a chain class, fitted so that no receptor is scored by what it trained

RESCORED = 0.5  # share of background receptors that are rescored
TRAINED = 0.2  # share that trains: trees that see all do worse where calls are made
PREVALENCE = 0.1  # share of labelled receptors in training
MIN_RIGHT = 100  # right epitopes of labelled receptors without which nothing is trained, in any fold


@dataclass(frozen=True)
class Fitted:
    """
    Scorer and calibration of a chain class.

    Attributes
    ----------
    scorer : Scorer
    scores : CalibrationScores
        Of labelled receptors by scorers that their studies did not train, and of background receptors.
    queries : DataFrame
        One row per labelled receptor: ``row`` in the reference, ``fold``, ``reachable``, ``epitope`` (the
        best one, -1 if there is none), ``score``, ``right``.
    """

    scorer: Scorer
    scores: CalibrationScores
    queries: pd.DataFrame


@dataclass(frozen=True)
class Collected:
    """
    Evidence that trains and calibrates.

    Attributes
    ----------
    threshold, typical
        As of `airrvec.annotation.scorer.Scorer`.
    queries : DataFrame
        From `evidence_by_fold`, and ``kept``: whether the query trains and calibrates. All do at first.
    labels : csr_array of float32, shape (n_queries, n_epitopes)
        1 where the query binds the epitope.
    fold_evidence : list of Evidence
        Of the queries of each fold.
    background : Evidence
        Of background receptors.
    """

    threshold: float
    typical: np.ndarray
    queries: pd.DataFrame
    labels: sparse.csr_array
    fold_evidence: list[Evidence]
    background: Evidence

    def untrained(self) -> Scorer:
        """Return a scorer without trees."""
        return scorer.untrained(self.threshold, self.typical)


def fit(sources: Sources, background: pa.Table, vectors: np.ndarray, **options) -> Fitted:
    """Return scorer and calibration; parameters as in `collect`."""
    return train(collect(sources, background, vectors, **options), threads=sources.threads)


def collect(
    sources: Sources,
    background: pa.Table,
    vectors: np.ndarray,
    *,
    seed: int = 420,
) -> Collected:
    """
    Collect the evidence of labelled receptors, from references of other studies, and of background receptors.

    Parameters
    ----------
    sources : Sources
    background : pyarrow.Table
        ``receptors`` of the chain class that are not in ``sources``.
    vectors : ndarray of float32, shape (n, d)
        Their vectors.
    seed : int
        Of the folds, if there are no studies.
    """
    threshold, typical, background_evidence = _evidence_of_background(sources, background, vectors)
    queries, fold_evidence = evidence_by_fold(sources, threshold, seed=seed)
    queries["kept"] = True
    labels = sources.reference.labels[queries["row"].to_numpy()]
    return Collected(threshold, typical, queries, labels, fold_evidence, background_evidence)


@step("comparison of background receptors with references")
def _evidence_of_background(
    sources: Sources, background: pa.Table, vectors: np.ndarray
) -> tuple[float, np.ndarray, Evidence]:
    """Return ``threshold``, ``typical`` and ``evidence`` of `Collected`."""
    first = first_candidates(sources, vectors)
    epitope, best = first.best()
    threshold = _share_exceeded(first, RESCORED)
    evidence = rescore(sources, background, first, threshold)
    likeliest = evidence.epitope == epitope[evidence.receptor]
    likeliest &= best[evidence.receptor] >= _share_exceeded(first, TRAINED)
    return threshold, np.median(evidence.measures[likeliest], axis=0), evidence


def _share_exceeded(background: Candidates, part: float) -> float:
    """Return the best share that a part of the background receptors exceeds."""
    return float(np.quantile(background.best()[1], 1 - part))


def untrained(sources: Sources, background: pa.Table, vectors: np.ndarray) -> Scorer:
    """
    Return a scorer without trees, for a class that cannot be calibrated; parameters as in `collect`.

    Without background receptors, all receptors are rescored, and no evidence has a weight.
    """
    if not len(background):
        return scorer.untrained(-np.inf, np.full(len(NAMES[sources.chains]), np.nan))
    threshold, typical, _ = _evidence_of_background(sources, background, vectors)
    return scorer.untrained(threshold, typical)


@step("training of the scorer")
def train(collected: Collected, *, threads: int = 1) -> Fitted:
    """
    Train the scorer, and score labelled and background receptors for the calibration.

    Labelled receptors of a fold of studies, and a part of the background, are scored by what all others
    train. The scorer of samples is trained by all. ``threads``: scorers that are trained at once.
    """
    queries, labels, background = collected.queries, collected.labels, collected.background
    folds, query_fold = np.unique(queries["fold"], return_inverse=True)
    background_fold = np.arange(len(background.first)) % max(len(folds), 1)
    material = _material(collected, query_fold, background_fold)
    can_train = material.can_train(len(folds))

    def scorer_without(fold: int | None) -> Scorer:
        if not can_train:
            return collected.untrained()
        used = material.fold != fold
        training = material.measures[used], material.right[used], material.weight[used]
        return scorer.fit(*training, collected.threshold, collected.typical)

    labelled_parts, negative_parts = [no_candidates(labels.shape[1])], [no_candidates(labels.shape[1])]
    *scorers, final_scorer = in_threads(scorer_without, [*range(len(folds)), None], threads)
    for fold, fold_scorer in enumerate(scorers):
        labelled_parts.append(fold_scorer.candidates(collected.fold_evidence[fold]))
        negative_parts.append(
            fold_scorer.candidates(background.take(np.flatnonzero(background_fold == fold)))
        )
    labelled = stacked(labelled_parts)
    epitope, score = labelled.best()
    queries = queries.assign(epitope=epitope, score=score, right=binds_epitope(labels, epitope))
    kept = np.flatnonzero(queries.pop("kept"))
    scores = CalibrationScores(labelled.take(kept), stacked(negative_parts), labels[kept])
    return Fitted(final_scorer, scores, queries.iloc[kept].reset_index(drop=True))


@dataclass(frozen=True)
class _Material:
    """Pairs of a receptor and an epitope that train: fold, measures, whether it is right, weight; (m, …)."""

    fold: np.ndarray
    measures: np.ndarray
    right: np.ndarray
    weight: np.ndarray

    def can_train(self, n_folds: int) -> bool:
        """Return whether there is enough to train without any of the folds."""
        n_right = np.bincount(self.fold, self.right, minlength=n_folds)
        return n_folds > 1 and self.right.sum() - n_right.max() >= MIN_RIGHT


def _material(collected: Collected, query_fold: np.ndarray, background_fold: np.ndarray) -> _Material:
    parts = []
    least = _share_exceeded(collected.background.first, TRAINED)
    kept, background = collected.queries["kept"].to_numpy(), collected.background
    for number, evidence in enumerate(collected.fold_evidence):
        row = np.flatnonzero(query_fold == number)[evidence.receptor]
        used = kept[row] & (evidence.first.best()[1] >= least)[evidence.receptor]
        right = binds_epitope(collected.labels[row[used]], evidence.epitope[used])
        weight = np.full(used.sum(), PREVALENCE / kept.sum())
        parts.append((query_fold[row[used]], evidence.measures[used], right, weight))
    used = (background.first.best()[1] >= least)[background.receptor]
    n = used.sum()
    weight = np.full(n, (1 - PREVALENCE) / len(background_fold))
    fold = background_fold[background.receptor[used]]
    parts.append((fold, background.measures[used], np.zeros(n, bool), weight))
    return _Material(*(np.concatenate(part) for part in zip(*parts, strict=True)))


# --- Cross-validated performance of annotation: reliability, precision and recall, and each epitope

# Assumed share of receptors that bind an epitope of the reference: a labelled receptor set gives no estimate
# of the share in a sample.
PREVALENCES = (0.1, 0.01)
BINS = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1])
MAX_POINTS = 200


@step("reliability of the probabilities")
def reliability_table(
    queries: pd.DataFrame, background: np.ndarray, group: dict
) -> tuple[pa.Table, float | None]:
    """
    Compare cross-validated probabilities with the observed share of right calls.

    Parameters
    ----------
    queries : DataFrame
        From `cross_validate`.
    background : ndarray, shape (b,)
        Scores of background receptors.
    group : dict
        Values of the columns ``species`` and ``chains``.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CALIBRATION`, for a share `PREVALENCE` of labelled receptors; no rows if all
        queries are in one fold, because no calibration can then be fitted without it.
    float or None
        Brier score of the same mixture; None if there are no rows.
    """
    if queries["fold"].nunique() < 2:
        return schema.CALIBRATION.empty_table(), None
    right = queries["right"].to_numpy()
    probabilities = cross_validated_probabilities(
        queries["score"].to_numpy(), right, queries["fold"].to_numpy(), background, PREVALENCE
    )
    probability = np.concatenate(probabilities)
    outcome = np.concatenate([right, np.zeros(len(background), bool)])
    labelled = np.arange(len(outcome)) < len(right)
    weight = _weights(labelled, PREVALENCE)
    rows = []
    bin_number = np.clip(np.digitize(probability, BINS) - 1, 0, len(BINS) - 2)
    for number in np.unique(bin_number):
        in_bin = bin_number == number
        rows.append(
            {
                **group,
                "prevalence": PREVALENCE,
                "probability": np.average(probability[in_bin], weights=weight[in_bin]),
                "observed": np.average(outcome[in_bin], weights=weight[in_bin]),
                "share": weight[in_bin].sum(),
                "n_labelled": int((in_bin & labelled).sum()),
                "n_background": int((in_bin & ~labelled).sum()),
            }
        )
    return pa.Table.from_pylist(rows, schema.CALIBRATION), brier_score(probability, outcome, weight)


def precision_recall(
    scores: np.ndarray, right: np.ndarray, reachable: np.ndarray, background: np.ndarray, prevalence: float
) -> pd.DataFrame:
    """
    Return precision and recall of calls, with each labelled receptor's score as threshold.

    Parameters
    ----------
    scores, right, reachable : ndarray, shape (n,)
        Score of each labelled receptor, whether its call is right, and whether any of its epitopes can be
        called.
    background : ndarray, shape (b,)
        Scores of background receptors, for which every call is false.
    prevalence : float
        Share of labelled receptors in the mixture.

    Returns
    -------
    DataFrame
        ``score``, descending; ``precision``; ``recall`` of the reachable receptors.

    Examples
    --------
    >>> scores, background = np.array([3.0, 2.0, 1.0]), np.array([0.5, 1.5])
    >>> right, reachable = np.array([True, True, False]), np.ones(3, bool)
    >>> precision_recall(scores, right, reachable, background, prevalence=0.5).round(2)
       score  precision  recall
    0    3.0       1.00    0.33
    1    2.0       1.00    0.67
    2    1.0       0.44    0.67
    """
    thresholds = np.unique(scores)[::-1]
    passing, passing_right, passing_background = (
        len(group) - np.searchsorted(np.sort(group), thresholds)
        for group in (scores, scores[right], background)
    )
    n_background = len(background)
    called_share = prevalence * passing / len(scores) + (1 - prevalence) * passing_background / n_background
    precision = prevalence * passing_right / len(scores) / called_share
    recall = passing_right / max(reachable.sum(), 1)
    return pd.DataFrame({"score": thresholds, "precision": precision, "recall": recall})


@step("precision and recall")
def precision_recall_table(queries: pd.DataFrame, background: np.ndarray, group: dict) -> pa.Table:
    """Return `airrvec.core.schema.PRECISION_RECALL`, at most `MAX_POINTS` rows per curve."""
    parts = []
    score, right, reachable = (queries[name].to_numpy() for name in ("score", "right", "reachable"))
    for prevalence in PREVALENCES:
        curve = precision_recall(score, right, reachable, background, prevalence)
        shown = np.unique(np.linspace(0, len(curve) - 1, MAX_POINTS).astype(int))
        parts.append(curve.iloc[shown].assign(**group, prevalence=prevalence))
    return pa.Table.from_pandas(pd.concat(parts), schema.PRECISION_RECALL, preserve_index=False)


@step("recall of epitopes")
def epitope_table(
    reference: ReferenceSet,
    queries: pd.DataFrame,
    background: np.ndarray,
    group: dict,
    *,
    fdr: float,
    min_references: int,
    excluded: pd.DataFrame | None = None,
) -> pa.Table:
    """
    Return `airrvec.core.schema.ANNOTATION_EPITOPES`; ``group`` has the values of ``species`` and ``chains``.

    ``excluded``, from `airrvec.annotation.reference_set.count_excluded`, adds a row for each epitope
    whose references are all excluded; without it, nothing is excluded.

    Recall and the share of wrong calls are measured at the lowest threshold where the precision over all
    epitopes is at least 1 − ``fdr``, in a mixture with a share `PREVALENCE` of labelled receptors. Wrong
    calls do not include those of background receptors, which have no epitope.
    """
    score, right, reachable = (queries[name].to_numpy() for name in ("score", "right", "reachable"))
    curve = precision_recall(score, right, reachable, background, PREVALENCE)
    precise = curve[curve["precision"] >= 1 - fdr]
    is_confident = queries["score"] >= (precise["score"].min() if len(precise) else np.inf)
    labels, n_references = reference.labels[queries["row"].to_numpy()], reference.epitopes["n_references"]
    calls = queries["epitope"].where(is_confident, -1).to_numpy()
    expected = expected_recall(labels, queries["fold"], calls, n_references, min_references)
    n_tested = np.rint(reachable.astype(np.float32) @ labels).astype(np.int64)
    n_right, n_called = (
        np.bincount(calls[kind & (calls >= 0)], minlength=len(n_references))
        for kind in (binds_epitope(labels, calls), np.ones(len(calls), bool))
    )
    rows = []
    n_excluded = (
        {} if excluded is None else dict(zip(excluded["epitope"], excluded["n_excluded"], strict=True))
    )
    for number, epitope in enumerate(named_rows(reference.epitopes)):
        tested, right_calls, n_calls = int(n_tested[number]), n_right[number], n_called[number]
        few = epitope.n_references < min_references
        n = counted(epitope.n_references, "reference")
        reason = f"{n}, and {min_references} are needed" if few else None
        rows.append(
            {
                **group,
                **_antigen(epitope),
                "n_references": epitope.n_references,
                "n_excluded": n_excluded.pop(epitope.epitope, 0),
                "n_studies": epitope.n_studies,
                "n_tested": tested,
                "recall": right_calls / tested if tested else None,
                "wrong": (n_calls - right_calls) / n_calls if n_calls else None,
                "expected_recall": None if few else expected[number],
                "outlook": outlook(None if few else expected[number], tested),
                "reason": reason,
            }
        )
    all_excluded = [
        {
            **group,
            **_antigen(epitope),
            **dict.fromkeys(("n_references", "n_studies", "n_tested"), 0),
            "n_excluded": epitope.n_excluded,
            "outlook": outlook(None, 0),
            "reason": "all of its references are excluded by --exclude_references",
        }
        for epitope in ([] if excluded is None else excluded.itertuples())
        if epitope.epitope in n_excluded
    ]
    frame = pd.DataFrame([*rows, *all_excluded], columns=schema.ANNOTATION_EPITOPES.names)
    return pa.Table.from_pandas(frame, schema.ANNOTATION_EPITOPES, preserve_index=False)


def _antigen(epitope) -> dict:
    return {name: getattr(epitope, name) for name in schema.ANTIGEN}


def _weights(labelled: np.ndarray, prevalence: float) -> np.ndarray:
    """Return receptor weights that sum to ``prevalence`` over labelled receptors and to 1 over all."""
    share = np.where(labelled, prevalence, 1 - prevalence)
    return share / np.where(labelled, labelled.sum(), (~labelled).sum())
