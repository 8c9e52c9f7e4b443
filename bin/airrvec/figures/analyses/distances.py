"""Figure, plot and text of the analysis ``distances``."""

from airrvec.analyses.distances import BIN
from airrvec.encoders import Titles
from airrvec.figures.style import panels, style

import numpy as np
import pyarrow as pa

TITLE = "Distances against TCRdist"
KINDS = {"all": "All pairs", "co_specific": "Co-specific pairs"}


def draw(table: pa.Table, titles: Titles):
    """Draw distance against TCRdist, one panel per encoder: median, and bands of 50 % and 90 % of pairs."""
    data = table.to_pandas()
    names = list(data["encoder"].unique())
    figure, axes = panels(len(names), 4.2, 3.6, sharex=True)
    for axis, name in zip(axes.flat, names, strict=False):
        encoder_rows = data[data["encoder"] == name]
        for index, (kind, words) in enumerate(KINDS.items()):
            line = encoder_rows[encoder_rows["pairs"] == kind]
            if line.empty:
                continue
            x, colour = line["tcrdist"] + BIN / 2, style(index)["color"]
            axis.plot(x, line["distance_q50"], label=words, markersize=4, **style(index))
            for low, high, alpha in (("05", "95", 0.12), ("25", "75", 0.22)):
                bounds = (line[f"distance_q{low}"], line[f"distance_q{high}"])
                axis.fill_between(x, *bounds, color=colour, alpha=alpha, linewidth=0)
        axis.set_title(f"{titles[name]} (Spearman's ρ = {_spearman(data, name):.2f})", fontsize=10)
        axis.set_xlabel("TCRdist")
        axis.set_ylabel("Distance")
        axis.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False, fontsize=9)
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas()
    kinds = [kind for kind in KINDS if kind in set(data["pairs"])]
    # Encoders differ in unit: show distances relative to the median of the bin with the most pairs.
    unit = data.loc[data.groupby("encoder")["n_pairs"].idxmax()].set_index("encoder")["distance_q50"]
    return {
        "kind": "linegraph",
        "data": [
            {
                titles[name]: {
                    int(row.tcrdist + BIN / 2): round(row.distance_q50 / (unit[name] or 1), 4)
                    for row in group.itertuples()
                }
                for name, group in data[data["pairs"] == kind].groupby("encoder", sort=False)
            }
            for kind in kinds
        ],
        "pconfig": {
            "xlab": "TCRdist",
            "ylab": "Median distance (1 = median at the most frequent TCRdist)",
            "tt_decimals": 3,
            "showlegend": True,
            "data_labels": [{"name": KINDS[kind]} for kind in kinds],
        },
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas()
    rhos = ", ".join(f"{titles[name]} {_spearman(data, name):.2f}" for name in data["encoder"].unique())
    return (
        f"Spearman's ρ between distance and TCRdist over pairs of random labelled receptors: {rhos}."
        " In the paper, the distances of SCEPTR correlate clearly with TCRdist, with much scatter."
    )


def _spearman(data, name: str) -> float:
    all_pairs = data[(data["encoder"] == name) & (data["pairs"] == "all")]
    return float(all_pairs["spearman"].iloc[0]) if len(all_pairs) else np.nan
