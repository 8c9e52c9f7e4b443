"""Scorer and calibration of a chain class, fitted so that no receptor is scored by what it trained."""

from dataclasses import dataclass

from airrvec.annotation import scorer
from airrvec.annotation.calibration import CalibrationScores
from airrvec.annotation.candidates import binds_epitope, no_candidates, stacked
from airrvec.annotation.cross_validation import evidence_by_fold
from airrvec.annotation.evidence import NAMES, Evidence, first_look, second_look
from airrvec.annotation.scorer import Scorer
from airrvec.annotation.sources import Sources
from airrvec.core.progress import step
from airrvec.core.runtime import in_threads

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

LOOKED_AT = 0.2  # share of background receptors that are looked at again
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
        One row per labelled receptor: ``row`` in the reference, ``fold``, ``findable``, ``epitope`` (the best
        one, -1 if there is none), ``score``, ``right``.
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
    threshold : float
        Lowest best score by SCEPTR of receptors that are looked at again.
    typical : ndarray of float64, shape (n_names,)
        Median evidence for the likeliest epitope of background receptors that are looked at again.
    queries : DataFrame
        From `evidence_by_fold`, and ``kept``: whether the query trains and calibrates. All do at first.
    labels : csr_array of float32, shape (n_queries, n_epitopes)
        1 where the query binds the epitope.
    found : list of Evidence
        Of the queries of each fold.
    others : Evidence
        Of background receptors.
    """

    threshold: float
    typical: np.ndarray
    queries: pd.DataFrame
    labels: sparse.csr_array
    found: list[Evidence]
    others: Evidence

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
    threshold, typical, others = _evidence_of_background(sources, background, vectors)
    queries, found = evidence_by_fold(sources, threshold, seed=seed)
    queries["kept"] = True
    labels = sources.reference.labels[queries["row"].to_numpy()]
    return Collected(threshold, typical, queries, labels, found, others)


@step("comparison of background receptors with references")
def _evidence_of_background(
    sources: Sources, background: pa.Table, vectors: np.ndarray
) -> tuple[float, np.ndarray, Evidence]:
    """Return ``threshold``, ``typical`` and ``others`` of `Collected`."""
    first = first_look(sources, vectors)
    epitope, best = first.best()
    threshold = float(np.quantile(best, 1 - LOOKED_AT))
    others = second_look(sources, background, first, threshold)
    likeliest = others.epitope == epitope[others.receptor]
    return threshold, np.median(others.measures[likeliest], axis=0), others


def untrained(sources: Sources, background: pa.Table, vectors: np.ndarray) -> Scorer:
    """
    Return a scorer without trees, for a class that cannot be calibrated; parameters as in `collect`.

    Without background receptors, all receptors are looked at again, and no evidence has a weight.
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
    queries, labels, others = collected.queries, collected.labels, collected.others
    folds, of_query = np.unique(queries["fold"], return_inverse=True)
    of_background = np.arange(len(others.first)) % max(len(folds), 1)
    material = _material(collected, of_query, of_background)
    can_train = material.can_train(len(folds))

    def scorer_without(fold: int | None) -> Scorer:
        if not can_train:
            return collected.untrained()
        used = material.fold != fold
        given = material.measures[used], material.right[used], material.weight[used]
        return scorer.fit(*given, collected.threshold, collected.typical)

    labelled, negatives = [no_candidates(labels.shape[1])], [no_candidates(labels.shape[1])]
    *scorers, of_all = in_threads(scorer_without, [*range(len(folds)), None], threads)
    for fold, of_fold in enumerate(scorers):
        labelled.append(of_fold.candidates(collected.found[fold]))
        negatives.append(of_fold.candidates(others.take(np.flatnonzero(of_background == fold))))
    labelled = stacked(labelled)
    epitope, score = labelled.best()
    queries = queries.assign(epitope=epitope, score=score, right=binds_epitope(labels, epitope))
    kept = np.flatnonzero(queries.pop("kept"))
    scores = CalibrationScores(labelled.take(kept), stacked(negatives), labels[kept])
    return Fitted(of_all, scores, queries.iloc[kept].reset_index(drop=True))


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


def _material(collected: Collected, of_query: np.ndarray, of_background: np.ndarray) -> _Material:
    parts = []
    kept, others = collected.queries["kept"].to_numpy(), collected.others
    for number, evidence in enumerate(collected.found):
        row = np.flatnonzero(of_query == number)[evidence.receptor]
        used = kept[row]
        right = binds_epitope(collected.labels[row[used]], evidence.epitope[used])
        weight = np.full(used.sum(), PREVALENCE / kept.sum())
        parts.append((of_query[row[used]], evidence.measures[used], right, weight))
    n = len(others.receptor)
    weight = np.full(n, (1 - PREVALENCE) / len(of_background))
    parts.append((of_background[others.receptor], others.measures, np.zeros(n, bool), weight))
    return _Material(*(np.concatenate(part) for part in zip(*parts, strict=True)))
