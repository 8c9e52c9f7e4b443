"""What the report shows of the analysis ``complexity``."""

import pandas as pd
import pyarrow as pa
from matplotlib import pyplot as plt

from airrvec.encoders import title
from airrvec.figures.style import style

TITLE = "AUROC and model size"


def draw(table: pa.Table):
    """A panel for parameters, one for dimensions."""
    data = _evaluated(table)
    figure, axes = plt.subplots(1, 2, figsize=(11.5, 4.4), sharey=True, layout="constrained")
    for axis, column, words in zip(
        axes, ("n_parameters", "n_dimensions"), ("Parameters", "Dimensions of a vector"), strict=True
    ):
        for index, row in enumerate(data.itertuples()):
            look = {**style(index), "linestyle": ""}
            axis.plot(getattr(row, column), row.auroc, label=title(row.encoder), markersize=8, **look)
        axis.set_xscale("symlog" if (data[column] < 1).any() else "log")
        axis.set_xlabel(words)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel(f"AUROC, mean of the epitopes, k = {data['k'].iloc[0]}")
    axes[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def plot(table: pa.Table) -> dict:
    return {
        "kind": "scatter",
        "data": {
            title(row.encoder): {"x": row.n_parameters, "y": round(row.auroc, 4)}
            for row in _evaluated(table).itertuples()
        },
        "pconfig": {"xlab": "Parameters", "ylab": "AUROC", "xlog": True, "marker_size": 8, "tt_decimals": 3},
    }


def reading(table: pa.Table) -> str:
    data = _evaluated(table)
    best = data.loc[data["auroc"].idxmax()]
    words = (
        f"The best of {len(data)} encoders has {best['n_parameters']:,} parameters and"
        f" {best['n_dimensions']:,} dimensions."
    )
    if len(data) > 3:
        rho = data["auroc"].corr(data["n_parameters"], method="spearman")
        words += f" Spearman's ρ of AUROC and number of parameters: {rho:.2f}."
    return words + (
        " In the paper SCEPTR, the smallest language model by a wide margin, does best: size is not what"
        " limits prediction."
    )


def _evaluated(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().dropna(subset=["auroc"]).astype({"k": int})
