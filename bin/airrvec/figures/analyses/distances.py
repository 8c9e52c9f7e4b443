"""What the report shows of the analysis ``distances``."""

import numpy as np
import pyarrow as pa

from airrvec.analyses.distances import BIN
from airrvec.encoders import title
from airrvec.figures.style import panels, style

TITLE = "Distances against TCRdist"
KINDS = {"all": "All pairs", "co_specific": "Co-specific pairs"}


def draw(table: pa.Table):
    """A panel an encoder: medians with the middle half and nine tenths of the pairs as bands."""
    data = table.to_pandas()
    names = list(data["encoder"].unique())
    figure, axes = panels(len(names), 4.2, 3.6, sharex=True)
    for axis, name in zip(axes.flat, names, strict=False):
        of_encoder = data[data["encoder"] == name]
        for index, (kind, words) in enumerate(KINDS.items()):
            line = of_encoder[of_encoder["pairs"] == kind]
            if line.empty:
                continue
            x, colour = line["tcrdist"] + BIN / 2, style(index)["color"]
            axis.plot(x, line["distance_q50"], label=words, markersize=4, **style(index))
            for low, high, alpha in (("05", "95", 0.12), ("25", "75", 0.22)):
                bounds = (line[f"distance_q{low}"], line[f"distance_q{high}"])
                axis.fill_between(x, *bounds, color=colour, alpha=alpha, linewidth=0)
        axis.set_title(f"{title(name)} (Spearman's ρ = {_spearman(data, name):.2f})", fontsize=10)
        axis.set_xlabel("TCRdist")
        axis.set_ylabel("Distance")
        axis.grid(alpha=0.3)
    axes[0, 0].legend(frameon=False, fontsize=9)
    return figure


def plot(table: pa.Table) -> dict:
    data = table.to_pandas()
    kinds = [kind for kind in KINDS if kind in set(data["pairs"])]
    # Each encoder has its own unit: the distance is shown relative to the median of its widest bin.
    unit = data.loc[data.groupby("encoder")["n_pairs"].idxmax()].set_index("encoder")["distance_q50"]
    return {
        "kind": "linegraph",
        "data": [
            {
                title(name): {
                    int(row.tcrdist + BIN / 2): round(row.distance_q50 / (unit[name] or 1), 4)
                    for row in group.itertuples()
                }
                for name, group in data[data["pairs"] == kind].groupby("encoder", sort=False)
            }
            for kind in kinds
        ],
        "pconfig": {
            "xlab": "TCRdist",
            "ylab": "Median distance (1: of the most frequent TCRdist)",
            "tt_decimals": 3,
            "showlegend": True,
            "data_labels": [{"name": KINDS[kind]} for kind in kinds],
        },
    }


def reading(table: pa.Table) -> str:
    data = table.to_pandas()
    found = ", ".join(f"{title(name)} {_spearman(data, name):.2f}" for name in data["encoder"].unique())
    return (
        f"Spearman's correlation with TCRdist over pairs of random labelled receptors: {found}."
        " The paper found SCEPTR's distances clearly correlated with TCRdist, with much scatter left."
    )


def _spearman(data, name: str) -> float:
    of_all = data[(data["encoder"] == name) & (data["pairs"] == "all")]
    return float(of_all["spearman"].iloc[0]) if len(of_all) else np.nan
