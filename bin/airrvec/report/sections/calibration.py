"""What the report shows of calibration: reliability of the probabilities, precision and recall."""

import pandas as pd

from airrvec.figures.style import COLOURS
from airrvec.report.page import section


def reliability_section(
    calibration: pd.DataFrame, groups: list[dict], titles: dict[tuple[str, str], str]
) -> dict:
    """Observed shares of right calls beside probabilities, with the Brier scores of the groups."""
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
        "Labelled receptors, each compared with the references of other studies, mixed with background"
        f" receptors so that {100 * prevalence:g} % are labelled; the calibration has seen neither their"
        f" study nor these background receptors. Brier score: {scores}.",
        "linegraph",
        data,
        pconfig={
            "xlab": "Probability that the call is right",
            "ylab": "Share of right calls",
            "xmin": 0,
            "xmax": 1,
            "ymin": 0,
            "ymax": 1,
            "showlegend": True,
            "colors": {**lines, "perfect calibration": "#999999"},
        },
    )


def precision_recall_section(precision_recall: pd.DataFrame) -> dict:
    """A curve a class of chains and share of labelled receptors."""
    data, colours = {}, {}
    for (title, prevalence), group in precision_recall.groupby(["group", "prevalence"]):
        line = f"{title}, {100 * prevalence:g} % labelled"
        colours[line] = COLOURS[len(colours) % len(COLOURS)]
        data[line] = {_place(row.recall): round(row.precision, 4) for row in group.itertuples()}
    return section(
        "airrvec_annotation_precision_recall",
        "Precision against recall",
        "Of labelled receptors whose epitope other studies know, by cross-validation over studies. How many"
        " receptors of a sample are like the reference decides what precision a recall costs.",
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
    """A share as the key of a line's point: MultiQC sorts the keys of JSON as words."""
    return f"{share:.4f}"
