"""Figure, plot and text of the analysis ``complexity``."""

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.encoders import Titles
from airrvec.figures.style import style

import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "AUROC and model size"


def draw(table: pa.Table, titles: Titles):
    """Draw AUROC against the number of parameters and against the vector dimensions, one panel each."""
    data = _evaluated(table)
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), sharey=True, layout="constrained")
    for axis, column, words in zip(
        axes, ("n_parameters", "n_dimensions"), ("Parameters", "Vector dimensions"), strict=True
    ):
        for index, row in enumerate(tables.named_rows(data)):
            look = {**style(index), "linestyle": ""}
            axis.plot(getattr(row, column), row.auroc, label=titles[row.encoder], markersize=8, **look)
        axis.set_xscale("symlog" if (data[column] < 1).any() else "log")
        axis.set_xlabel(words)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"AUROC, mean over epitopes, k = {data['k'].iloc[0]}")
    axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    return {
        "kind": "scatter",
        "data": {
            titles[row.encoder]: {"x": row.n_parameters, "y": round(row.auroc, 4)}
            for row in tables.named_rows(_evaluated(table))
        },
        "pconfig": {"xlab": "Parameters", "ylab": "AUROC", "xlog": True, "marker_size": 8, "tt_decimals": 3},
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = _evaluated(table)
    best = data.loc[data["auroc"].idxmax()]
    words = (
        f"Of {counted(len(data), 'encoder')}, the one with the highest AUROC has"
        f" {best['n_parameters']:,} parameters and {best['n_dimensions']:,} dimensions."
    )
    if len(data) > 3:
        rho = data["auroc"].corr(data["n_parameters"], method="spearman")
        words += f" Spearman's ρ between AUROC and number of parameters: {rho:.2f}."
    return words + (
        " In the paper, SCEPTR has the highest AUROC although it is by far the smallest language model:"
        " model size does not limit prediction."
    )


def _evaluated(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().dropna(subset=["auroc"]).astype({"k": int})
