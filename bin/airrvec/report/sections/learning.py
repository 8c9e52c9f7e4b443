"""Training curves of pre-training and fine-tuning in the MultiQC report."""

from pathlib import Path

from airrvec.core import tables
from airrvec.figures.palette import COLOURS
from airrvec.report.page import escaped, section

import numpy as np
import pandas as pd

TERMS = {
    "loss": "Loss",
    "contrastive_loss": "Contrastive loss",
    "mlm_loss": "Masked-language loss",
    "alignment": "Alignment",
    "uniformity": "Uniformity",
}
MAX_POINTS = 200


def curves_section(folders: list[Path]) -> dict:
    """Return losses, alignment and uniformity of trained models against the step."""
    histories = {folder.name: tables.read(folder / "training.parquet").to_pandas() for folder in folders}
    shown = [term for term in TERMS if any(history[term].notna().any() for history in histories.values())]
    datasets, colours = [], {}
    for term in shown:
        lines = {}
        for number, (name, history) in enumerate(histories.items()):
            for part, part_rows in history[history[term].notna()].groupby("part"):
                line = f"{escaped(name)}, {part}"
                colours[line] = COLOURS[(2 * number + (part != "train")) % len(COLOURS)]
                lines[line] = _thinned(part_rows, term)
        datasets.append(lines)
    return section(
        "airrvec_training",
        "Training",
        "Training values are means over neighbouring steps; validation values are measured on held-out"
        " receptors. All steps are in <code>models/*/training.parquet</code>.",
        "linegraph",
        datasets,
        pconfig={
            "xlab": "Step",
            "ylab": TERMS[shown[0]],
            "tt_decimals": 3,
            "showlegend": True,
            "colors": colours,
            "data_labels": [{"name": TERMS[term], "ylab": TERMS[term]} for term in shown],
        },
    )


def _thinned(history: pd.DataFrame, term: str) -> dict[int, float]:
    """Return step → mean of a term since the previous shown step, for at most `MAX_POINTS` steps."""
    bins = np.arange(len(history)) * MAX_POINTS // max(len(history), MAX_POINTS)
    points = history.groupby(bins)[["step", term]].agg({"step": "last", term: "mean"})
    return dict(zip(points["step"].tolist(), points[term].round(5).tolist(), strict=True))
