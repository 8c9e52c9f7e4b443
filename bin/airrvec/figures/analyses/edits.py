"""Figure, plot and text of the analysis ``edits``."""

from airrvec.analyses.edits import EDITS, REGIONS
from airrvec.core import schema
from airrvec.core.chains import GREEK
from airrvec.encoders import Titles
from airrvec.figures.style import style

import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Cost of an edit along the junction"


def draw(table: pa.Table, titles: Titles):
    """Draw the cost of each edit: one row per chain, one column per encoder, one line per kind of edit."""
    data = table.to_pandas()
    names = list(data["encoder"].unique())
    figure, axes = plt.subplots(
        2,
        len(names),
        figsize=(max(3.2 * len(names), 6), 6),
        squeeze=False,
        layout="constrained",
        sharey="col",
    )
    for column, name in enumerate(names):
        for row, chain in enumerate(GREEK[locus] for locus in schema.LOCI):
            axis = axes[row][column]
            chain_rows = data[(data["encoder"] == name) & (data["chain"] == chain)]
            for index, edit in enumerate(EDITS):
                line = chain_rows[chain_rows["edit"] == edit].set_index("region").reindex(REGIONS)
                axis.errorbar(
                    REGIONS, line["mean_distance"], yerr=line["std_distance"], label=edit, capsize=2,
                    markersize=4, **style(index),
                )  # fmt: skip
            axis.set_title(f"{titles[name]}, {chain}", fontsize=9)
            axis.tick_params(axis="x", rotation=45, labelsize=8)
            axis.set_ylim(0)
            axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("Distance to the unedited receptor")
    axes[1][0].set_ylabel("Distance to the unedited receptor")
    axes[0][0].legend(frameon=False, fontsize=8)
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas().dropna(subset=["relative"])
    return {
        "kind": "linegraph",
        "data": [
            {
                f"{edit}, {chain}": {row.region: round(row.relative, 4) for row in line.itertuples()}
                for (chain, edit), line in encoder_rows.groupby(["chain", "edit"])
            }
            for _, encoder_rows in data.groupby("encoder", sort=False)
        ],
        "pconfig": {
            "xlab": "Fifth of the junction, from the N terminus",
            "ylab": "Distance (1 = mean of two random receptors)",
            "categories": True,
            "ymin": 0,
            "tt_decimals": 3,
            "style": "lines+markers",
            "showlegend": True,
            "data_labels": [{"name": titles[name]} for name in data["encoder"].unique()],
        },
    }


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas()
    indel = data[data["edit"] != "substitution"]
    ratios = []
    for name in data["encoder"].unique():
        encoder_indels = indel[indel["encoder"] == name]
        means = encoder_indels.groupby("region")["mean_distance"].mean().reindex(REGIONS)
        substitution = data[(data["encoder"] == name) & (data["edit"] == "substitution")][
            "mean_distance"
        ].mean()
        ratios.append(
            f"{titles[name]} {_ratio(means.mean(), substitution)} and {_ratio(means['start'], means['end'])}"
        )
    return (
        "Two ratios of mean distances for each encoder: insertions and deletions (indels) to substitutions,"
        f" and indels in the first to indels in the last fifth of the junction: {'; '.join(ratios)}. In the"
        " paper, indels cost more than substitutions. Their cost is even along the junction for SCEPTR, and"
        " highest at one end for models with left-aligned positions."
    )


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.2f}" if b > 0 else "-"
