"""Calibration in the MultiQC report: reliability of the probabilities, precision and recall."""

import pandas as pd

from airrvec.figures.style import COLOURS
from airrvec.report.page import section


def reliability_section(
    calibration: pd.DataFrame, groups: list[dict], titles: dict[tuple[str, str], str]
) -> dict:
    """Return observed shares of correct calls against probabilities, with the Brier score of each group."""
    data = {
        title: {_place(row.probability): round(row.observed, 4) for row in rows.itertuples()}
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
        f" Brier score: {scores}.",
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
        data[line] = {_place(row.recall): round(row.precision, 4) for row in group.itertuples()}
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


def _place(share: float) -> str:
    """Return a share as key of a point, with fixed width: MultiQC sorts JSON keys as text."""
    return f"{share:.4f}"
