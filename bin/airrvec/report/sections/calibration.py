"""Calibration in the MultiQC report: reliability of the probabilities, precision and recall, cautions."""

from airrvec.core import tables
from airrvec.evaluation.training_labels import not_recorded_warning
from airrvec.figures.palette import COLOURS
from airrvec.report.page import section

import pandas as pd


def reliability_section(
    calibration: pd.DataFrame, groups: list[dict], titles: dict[tuple[str, str], str]
) -> dict:
    """Return observed shares of correct calls against probabilities, with the Brier score of each group."""
    data = {
        title: {_place(row.probability): round(row.observed, 4) for row in tables.named_rows(rows)}
        for title, rows in calibration.groupby("group")
    }
    lines = dict(zip(titles.values(), COLOURS, strict=False))
    data["perfect calibration"] = {_place(0): 0, _place(1): 1}
    prevalence = calibration["prevalence"].iloc[0]
    scores = ", ".join(
        f"{titles[group['species'], group['chains']]} {group['brier']:.4f}"
        for group in groups
        if group.get("brier") is not None
    )
    return section(
        "airrvec_annotation_reliability",
        "Reliability of the probabilities",
        "Cross-validation over studies: labelled receptors are compared only with references of other"
        f" studies, and mixed with background receptors so that {100 * prevalence:g} % are labelled. The"
        " calibration is fitted without the study of the receptor and without these background receptors."
        " Mean squared error of the probabilities (Brier score; 0 is perfect, always saying 50 % has 0.25):"
        f" {scores}.",
        "linegraph",
        data,
        pconfig={
            "xlab": "Predicted probability that the call is correct",
            "ylab": "Observed share of correct calls",
            "xmin": 0,
            "xmax": 1,
            "ymin": 0,
            "ymax": 1,
            "showlegend": True,
            "colors": {**lines, "perfect calibration": "#999999"},
        },
    )


def precision_recall_section(precision_recall: pd.DataFrame) -> dict:
    """Return one curve for each class of chains and share of labelled receptors."""
    data, colours = {}, {}
    for (title, prevalence), group in precision_recall.groupby(["group", "prevalence"]):
        line = f"{title}, {100 * prevalence:g} % labelled"
        colours[line] = COLOURS[len(colours) % len(COLOURS)]
        data[line] = {_place(row.recall): round(row.precision, 4) for row in tables.named_rows(group)}
    return section(
        "airrvec_annotation_precision_recall",
        "Precision against recall",
        "Cross-validation over studies. Recall is the share of correct calls among labelled receptors whose"
        " epitope has references in other studies. The precision at a given recall depends on the share of"
        " receptors in a sample that resemble the reference; each curve assumes one share.",
        "linegraph",
        data,
        pconfig={
            "xlab": "Recall",
            "ylab": "Precision",
            "ymin": 0,
            "ymax": 1,
            "xmin": 0,
            "showlegend": True,
            "colors": colours,
        },
    )


def cautions(reference: dict, titles: dict[tuple[str, str], str]) -> list[str]:
    """
    Return sentences on limits of the error rates.

    Parameters
    ----------
    reference : dict
        Counts of ``calibrate_annotation.py``.
    titles : dict
        Species and class of chains → title.
    """
    sentences = [
        f"{titles[group['species'], group['chains']]}: not calibrated, no calls ({group['not_calibrated']});"
        " scores, best epitopes and nearest references are in the tables"
        for group in reference["groups"]
        if group["not_calibrated"]
    ]
    if any(group.get("by_study") is False for group in reference["groups"]):
        sentences.append(
            "The reference has fewer than two studies, so its receptors were held out at random; in other"
            " studies, more calls are false than these numbers state"
        )
    return [*sentences, *_training_cautions(reference, titles)]


def _training_cautions(reference: dict, titles: dict[tuple[str, str], str]) -> list[str]:
    """Return sentences on labelled receptors that the model was trained on."""
    sentences = [not_recorded_warning(model) for model in reference.get("not_recorded", ())]
    for group in reference["groups"]:
        trained_on = group.get("trained_on", {"queries": 0})
        if trained_on["queries"]:
            sentences.append(
                f"{titles[group['species'], group['chains']]}: the model was trained on"
                f" {trained_on['queries']:,} of the receptors held out for calibration"
                + (
                    "; they are excluded"
                    if trained_on["left_out"]
                    else "; too few others remain to exclude them, so the error rates are underestimated"
                )
            )
    return sentences


def is_underestimated(reference: dict) -> bool:
    """Return whether the calibration uses receptors that the model was trained on."""
    trained = [group.get("trained_on", {}) for group in reference["groups"]]
    return bool(reference.get("not_recorded") or any(n.get("queries") and not n["left_out"] for n in trained))


def _place(share: float) -> str:
    """Return a share as key of a point, with fixed width: MultiQC sorts JSON keys as text."""
    return f"{share:.4f}"
