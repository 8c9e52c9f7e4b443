"""Figure, plot and text of the analysis ``power_mean``."""

from airrvec.analyses.power_mean import EXPONENTS
from airrvec.encoders import Titles
from airrvec.figures.style import style

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Power mean of α and β distances"


def label(exponent: float) -> str:
    """Return the tick label of an exponent."""
    words = {-np.inf: "min", 0.0: "0 (geometric)", 1.0: "1 (arithmetic)", np.inf: "max"}
    return words.get(exponent, f"{exponent:g}")


def draw(table: pa.Table, titles: Titles):
    """Draw correlation and AUROC against the exponent."""
    data = table.to_pandas()
    ticks = [label(exponent) for exponent in EXPONENTS]
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for index, (name, line) in enumerate(data.groupby("encoder", sort=False)):
        left.plot(ticks, line["pearson"], label=titles[name], markersize=4, **style(index))
    right.plot(ticks, data.groupby("exponent")["auroc"].first(), color="black", marker="o", markersize=4)
    left.set_ylabel("Pearson's r with the encoder distance")
    right.set_ylabel("AUROC, co-specific against other pairs")
    left.legend(frameon=False, fontsize=9)
    for axis in (left, right):
        axis.set_xlabel("Exponent of the power mean of α and β TCRdist")
        plt.setp(axis.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")
        axis.grid(alpha=0.3)
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas().dropna(subset=["pearson"])
    aurocs = table.to_pandas().groupby("exponent")["auroc"].first().dropna()
    datasets = [
        {
            titles[name]: {label(row.exponent): round(row.pearson, 4) for row in line.itertuples()}
            for name, line in data.groupby("encoder", sort=False)
        }
    ]
    labels = [{"name": "Correlation", "ylab": "Pearson's r"}]
    if len(aurocs):
        datasets.append({"TCRdist": {label(p): round(value, 4) for p, value in aurocs.items()}})
        labels.append({"name": "Co-specific pairs", "ylab": "AUROC"})
    return {
        "kind": "linegraph",
        "data": datasets,
        "pconfig": {
            "xlab": "Exponent of the power mean of α and β TCRdist",
            "ylab": "Pearson's r",
            "categories": True,
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "data_labels": labels,
        },
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas().dropna(subset=["pearson"])
    best = data.loc[data.groupby("encoder", sort=False)["pearson"].idxmax()]
    exponents = ", ".join(f"{titles[row.encoder]} {label(row.exponent)}" for row in best.itertuples())
    aurocs = table.to_pandas().groupby("exponent")["auroc"].first().dropna()
    words = f"Exponent with the highest correlation, by encoder: {exponents}."
    if len(aurocs):
        words += (
            f" The exponent {label(aurocs.idxmax())} separates co-specific from other pairs best (AUROC"
            f" {aurocs.max():.3f}; arithmetic mean {aurocs[1.0]:.3f})."
        )
    return words + (
        " In the paper, SCEPTR has exponents below 1: its distance is closer to the smaller of the two chain"
        " distances than to their average; TCRdist averages the two."
    )
