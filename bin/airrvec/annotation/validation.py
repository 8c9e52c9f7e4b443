"""Cross-validated performance of annotation: reliability, precision and recall, and each epitope."""

from airrvec.annotation.calibration import brier_score, cross_validated_probabilities
from airrvec.annotation.reference_set import ReferenceSet
from airrvec.core import schema
from airrvec.core.plural import counted
from airrvec.core.progress import step

import numpy as np
import pandas as pd
import pyarrow as pa

# Assumed share of receptors that bind an epitope of the reference: a labelled receptor set gives no estimate
# of the share in a sample.
PREVALENCE = 0.1
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
        From `airrvec.annotation.cross_validation.cross_validate`.
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
    scores: np.ndarray, right: np.ndarray, findable: np.ndarray, background: np.ndarray, prevalence: float
) -> pd.DataFrame:
    """
    Return precision and recall of calls, with each labelled receptor's score as threshold.

    Parameters
    ----------
    scores, right, findable : ndarray, shape (n,)
        Score of each labelled receptor, whether its call is right, and whether any of its epitopes can be
        called.
    background : ndarray, shape (b,)
        Scores of background receptors, for which every call is false.
    prevalence : float
        Share of labelled receptors in the mixture.

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


@step("precision and recall")
def precision_recall_table(queries: pd.DataFrame, background: np.ndarray, group: dict) -> pa.Table:
    """Return `airrvec.core.schema.PRECISION_RECALL`, at most `MAX_POINTS` rows per curve."""
    parts = []
    for prevalence in PREVALENCES:
        curve = precision_recall(
            *(queries[name].to_numpy() for name in ("score", "right", "findable")), background, prevalence
        )
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
        is_binder = np.zeros(len(queries), bool)
        is_binder[binds.indices[binds.indptr[number] : binds.indptr[number + 1]]] = True
        is_called = called & (queries["epitope"] == number)
        tested = is_binder & queries["findable"]
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
                "n_tested": int(tested.sum()),
                "recall": (is_called & is_binder).sum() / tested.sum() if tested.any() else None,
                "wrong": (is_called & ~is_binder).sum() / is_called.sum() if is_called.any() else None,
                "reason": reason,
            }
        )
    all_excluded = [
        {
            **group,
            **_antigen(epitope),
            "n_references": 0,
            "n_excluded": epitope.n_excluded,
            "n_studies": 0,
            "n_tested": 0,
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
