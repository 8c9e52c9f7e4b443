"""What cross-validation says of annotation: reliability, precision and recall, and each epitope."""

import numpy as np
import pandas as pd
import pyarrow as pa

from airrvec import schema
from airrvec.annotation import Reference
from airrvec.calibration import brier, cross_fitted

# Share of receptors of the reference's epitopes that measures are given for: a labelled receptor set
# says nothing of a sample's.
PREVALENCE = 0.1
PREVALENCES = (0.1, 0.01)
BINS = np.array([0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1])
MAX_POINTS = 200


def reliability(queries: pd.DataFrame, background: np.ndarray, chains: str) -> tuple[pa.Table, float]:
    """
    Probabilities beside the share of right calls, by calibrations that have not seen the study.

    Parameters
    ----------
    queries : DataFrame
        Of `airrvec.calibration.cross_validate`.
    background : ndarray, shape (b,)
        Scores of background receptors.
    chains : str
        Goes into the table.

    Returns
    -------
    pyarrow.Table
        `airrvec.schema.CALIBRATION`, for a share `PREVALENCE` of labelled receptors.
    float
        Brier score of the same mixture.
    """
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
                "chains": chains,
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


def precision_recall_table(queries: pd.DataFrame, background: np.ndarray, chains: str) -> pa.Table:
    """`airrvec.schema.PRECISION_RECALL` of `airrvec.calibration.cross_validate`, `MAX_POINTS` a curve."""
    parts = []
    for prevalence in PREVALENCES:
        curve = precision_recall(
            *(queries[name].to_numpy() for name in ("score", "right", "findable")), background, prevalence
        )
        shown = np.unique(np.linspace(0, len(curve) - 1, MAX_POINTS).astype(int))
        parts.append(curve.iloc[shown].assign(chains=chains, prevalence=prevalence))
    return pa.Table.from_pandas(pd.concat(parts), schema.PRECISION_RECALL, preserve_index=False)


def of_epitopes(
    reference: Reference, queries: pd.DataFrame, background: np.ndarray, *, fdr: float, min_references: int
) -> pd.DataFrame:
    """
    `airrvec.schema.ANNOTATION_EPITOPES` without ``chains``.

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
                "n_studies": epitope.n_studies,
                "n_tested": int(tested.sum()),
                "recall": (of_epitope & own).sum() / tested.sum() if tested.any() else None,
                "wrong": (of_epitope & ~own).sum() / of_epitope.sum() if of_epitope.any() else None,
                "reason": reason,
            }
        )
    return pd.DataFrame(rows)


def _weights(labelled: np.ndarray, prevalence: float) -> np.ndarray:
    """Of each receptor, so that the labelled ones together weigh ``prevalence``, all together 1."""
    share = np.where(labelled, prevalence, 1 - prevalence)
    return share / np.where(labelled, labelled.sum(), (~labelled).sum())
