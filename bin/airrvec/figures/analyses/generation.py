"""Figure, plot and text of the analysis ``generation``."""

from airrvec.encoders import Titles
from airrvec.figures.style import style

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Distances and generation probability"


def draw(table: pa.Table, titles: Titles):
    """Draw the correlation of TCRdist with probability by distance, and co-specific pairs by probability."""
    data = table.to_pandas()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for index, (name, encoder_rows) in enumerate(data.groupby("encoder", sort=False)):
        line = encoder_rows[(encoder_rows["binned_by"] == "distance") & encoder_rows["pearson"].notna()]
        x = line["mean_distance"] / line["mean_distance"].max()
        left.plot(x, line["pearson"], label=titles[name], markersize=4, **style(index))
        left.fill_between(
            x, line["pearson_low"], line["pearson_high"], color=style(index)["color"], alpha=0.15
        )
    share = _probability_bins(data)
    right.plot(share["mean_log10_probability"], 100 * share["co_specific"], color="black", marker="o")
    left.axhline(0, color="grey", linewidth=0.8, linestyle=":")
    left.set_xlabel("Encoder distance (1 = most distant bin)")
    left.set_ylabel("Pearson's r, TCRdist with log generation probability")
    right.set_xlabel("log10 generation probability (lower one of the pair)")
    right.set_ylabel("Co-specific pairs (%)")
    right.set_ylim(0)
    left.legend(frameon=False, fontsize=9)
    for axis in (left, right):
        axis.grid(alpha=0.3)
    return figure


def _probability_bins(data):
    """Return the bins by probability of the first encoder; they are equal for all encoders."""
    return data[(data["binned_by"] == "probability") & (data["encoder"] == data["encoder"].iloc[0])]


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas()
    distance_bins = data[(data["binned_by"] == "distance") & data["pearson"].notna()]
    far = distance_bins.groupby("encoder")["mean_distance"].max()
    return {
        "kind": "linegraph",
        "data": [
            {
                titles[name]: {
                    round(row.mean_distance / (far[name] or 1), 4): round(row.pearson, 4)
                    for row in line.itertuples()
                }
                for name, line in distance_bins.groupby("encoder", sort=False)
            },
            {
                "pairs": {
                    round(row.mean_log10_probability, 3): round(100 * row.co_specific, 4)
                    for row in _probability_bins(data).itertuples()
                }
            },
        ],
        "pconfig": {
            "xlab": "Encoder distance (1 = most distant bin)",
            "ylab": "Pearson's r",
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "data_labels": [
                {
                    "name": "Correlation",
                    "ylab": "Pearson's r",
                    "xlab": "Encoder distance (1 = most distant bin)",
                },
                {
                    "name": "Co-specific pairs",
                    "ylab": "%",
                    "xlab": "log10 generation probability (lower one of the pair)",
                },
            ],
        },
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas()
    near = (
        data[(data["binned_by"] == "distance") & data["pearson"].notna()]
        .groupby("encoder", sort=False)
        .head(5)
    )
    correlations = ", ".join(
        f"{titles[name]} {np.average(bins['pearson'], weights=bins['n_pairs']):.2f}"
        for name, bins in near.groupby("encoder", sort=False)
    )
    share = _probability_bins(data)
    return (
        "Pearson's r between TCRdist and log generation probability, for the 10 % of pairs with the smallest"
        f" encoder distance (weighted mean over bins): {correlations or 'too few pairs'}. If r is below 0,"
        " pairs of low generation probability differ more in sequence at the same encoder distance; the"
        f" paper found this for SCEPTR. Co-specific pairs: {100 * share['co_specific'].iloc[0]:.1f} % in the"
        " tenth of pairs with the lowest generation probability,"
        f" {100 * share['co_specific'].iloc[-1]:.1f} % in the tenth with the highest."
    )
