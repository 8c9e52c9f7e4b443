"""What cross-validation says of annotation: reliability, precision and recall, and each epitope."""

import numpy as np
import pandas as pd
import pyarrow as pa

from airrvec.annotation.calibration import brier, cross_fitted
from airrvec.annotation.reference_set import Reference
from airrvec.core import schema

# Share of receptors of the reference's epitopes that measures are given for: a labelled receptor set
# says nothing of a sample's.
PREVALENCE = 0.1
PREVALENCES = (0.1, 0.01)
BINS = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1])
MAX_POINTS = 200


def reliability(queries: pd.DataFrame, background: np.ndarray, group: dict) -> tuple[pa.Table, float | None]:
    """
    Probabilities beside the share of right calls, by calibrations that have not seen the study.

    Parameters
    ----------
    queries : DataFrame
        Of `airrvec.annotation.calibration.cross_validate`.
    background : ndarray, shape (b,)
        Scores of background receptors.
    group : dict
        ``species`` and ``chains``, for the table.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CALIBRATION`, for a share `PREVALENCE` of labelled receptors; no rows if the
        queries are all of one fold, as no calibration is without its studies then.
    float or None
        Brier score of the same mixture; None where there are no rows.
    """
    if queries["fold"].nunique() < 2:
        return schema.CALIBRATION.empty_table(), None
    right = queries["right"].to_numpy()
    of_groups = cross_fitted(
        queries["score"].to_numpy(), right, queries["fold"].to_numpy(), background, PREVALENCE
    )
    probability = np.concatenate(of_groups)
    outcome = np.concatenate([right, np.zeros(len(background), bool)])
    labelled = np.arange(len(outcome)) < len(right)
    weight = _weights(labelled, PREVALENCE)
    rows = []
    inside = np.clip(np.digitize(probability, BINS) - 1, 0, len(BINS) - 2)
    for number in np.unique(inside):
        of_bin = inside == number
        rows.append(
            {
                **group,
                "prevalence": PREVALENCE,
                "probability": np.average(probability[of_bin], weights=weight[of_bin]),
                "observed": np.average(outcome[of_bin], weights=weight[of_bin]),
                "share": weight[of_bin].sum(),
                "n_labelled": int((of_bin & labelled).sum()),
                "n_background": int((of_bin & ~labelled).sum()),
            }
        )
    return pa.Table.from_pylist(rows, schema.CALIBRATION), brier(probability, outcome, weight)


def precision_recall(
    scores: np.ndarray, right: np.ndarray, findable: np.ndarray, background: np.ndarray, prevalence: float
) -> pd.DataFrame:
    """
    Precision and recall of calls at each labelled receptor's score as threshold.

    Parameters
    ----------
    scores, right, findable : ndarray, shape (n,)
        Of labelled receptors; ``findable`` those of which an epitope can be called.
    background : ndarray, shape (b,)
        Scores of receptors of which every call is false.
    prevalence : float
        Share of the labelled receptors in the mixture.

    Returns
    -------
    DataFrame
        ``score``, descending; ``precision``; ``recall`` of the findable receptors.
    """
    thresholds = np.unique(scores)[::-1]
    passing, passing_right, passing_background = (
        len(group) - np.searchsorted(np.sort(group), thresholds)
        for group in (scores, scores[right], background)
    )
    called = prevalence * passing / len(scores) + (1 - prevalence) * passing_background / len(background)
    precision = prevalence * passing_right / len(scores) / called
    recall = passing_right / max(findable.sum(), 1)
    return pd.DataFrame({"score": thresholds, "precision": precision, "recall": recall})


def precision_recall_table(queries: pd.DataFrame, background: np.ndarray, group: dict) -> pa.Table:
    """Return `airrvec.core.schema.PRECISION_RECALL`, `MAX_POINTS` rows a curve."""
    parts = []
    for prevalence in PREVALENCES:
        curve = precision_recall(
            *(queries[name].to_numpy() for name in ("score", "right", "findable")), background, prevalence
        )
        shown = np.unique(np.linspace(0, len(curve) - 1, MAX_POINTS).astype(int))
        parts.append(curve.iloc[shown].assign(**group, prevalence=prevalence))
    return pa.Table.from_pandas(pd.concat(parts), schema.PRECISION_RECALL, preserve_index=False)


def of_epitopes(
    reference: Reference,
    queries: pd.DataFrame,
    background: np.ndarray,
    *,
    fdr: float,
    min_references: int,
    excluded: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """
    `airrvec.core.schema.ANNOTATION_EPITOPES` without ``species`` and ``chains``.

    ``excluded``, from `airrvec.annotation.reference_set.excluded_of_epitopes`, adds a row for each epitope of
    which nothing is left; without it nothing is excluded.

    Recall and share of wrong calls are those at the lowest threshold where the precision of all epitopes
    together is at least 1 − ``fdr``, in a mixture with a share `PREVALENCE` of labelled receptors. Calls of
    background receptors are not among the wrong ones, as they are no epitope's own.
    """
    curve = precision_recall(
        *(queries[name].to_numpy() for name in ("score", "right", "findable")), background, PREVALENCE
    )
    precise = curve[curve["precision"] >= 1 - fdr]
    called = queries["score"] >= (precise["score"].min() if len(precise) else np.inf)
    binds = reference.labels[queries["row"].to_numpy()].tocsc()
    rows = []
    n_excluded = (
        {} if excluded is None else dict(zip(excluded["epitope"], excluded["n_excluded"], strict=True))
    )
    for number, epitope in enumerate(reference.epitopes.itertuples()):
        own = np.zeros(len(queries), bool)
        own[binds.indices[binds.indptr[number] : binds.indptr[number + 1]]] = True
        of_epitope = called & (queries["epitope"] == number)
        tested = own & queries["findable"]
        few = epitope.n_references < min_references
        reason = f"{epitope.n_references} references, and {min_references} are needed" if few else None
        rows.append(
            {
                "epitope": epitope.epitope,
                "antigen_species": epitope.antigen_species,
                "mhc_a": epitope.mhc_a,
                "n_references": epitope.n_references,
                "n_excluded": n_excluded.pop(epitope.epitope, 0),
                "n_studies": epitope.n_studies,
                "n_tested": int(tested.sum()),
                "recall": (of_epitope & own).sum() / tested.sum() if tested.any() else None,
                "wrong": (of_epitope & ~own).sum() / of_epitope.sum() if of_epitope.any() else None,
                "reason": reason,
            }
        )
    nothing_left = [
        {
            "epitope": epitope.epitope,
            "antigen_species": epitope.antigen_species,
            "mhc_a": epitope.mhc_a,
            "n_references": 0,
            "n_excluded": epitope.n_excluded,
            "n_studies": 0,
            "n_tested": 0,
            "reason": "all of its references are left out by --exclude_references",
        }
        for epitope in ([] if excluded is None else excluded.itertuples())
        if epitope.epitope in n_excluded
    ]
    columns = [name for name in schema.ANNOTATION_EPITOPES.names if name != "chains"]
    return pd.DataFrame([*rows, *nothing_left], columns=columns)


def _weights(labelled: np.ndarray, prevalence: float) -> np.ndarray:
    """Of each receptor, so that the labelled ones together weigh ``prevalence``, all together 1."""
    share = np.where(labelled, prevalence, 1 - prevalence)
    return share / np.where(labelled, labelled.sum(), (~labelled).sum())
