"""Figure, plot and text of the analysis ``coincidence``."""

from airrvec.encoders import Titles
from airrvec.figures.style import escape_mathtext, style

import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Probability of coincidence"
SHOWN = 6  # epitopes in the figures: those with the most receptors


def draw(table: pa.Table, titles: Titles):
    """Draw the share of pairs within each TCRdist, and its ratio to that of background pairs."""
    data = table.to_pandas()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    for index, (epitope, line) in enumerate(list(data.groupby("epitope", sort=False))[:SHOWN]):
        look = {**style(index), "markersize": 3}
        positive = line[line["probability"] > 0]
        left.plot(positive["tcrdist"], positive["probability"], label=escape_mathtext(epitope), **look)
        right.plot(positive["tcrdist"], positive["ratio"], **look)
    background = data[(data["epitope"] == data["epitope"].iloc[0]) & (data["background"] > 0)]
    left.plot(
        background["tcrdist"], background["background"], color="grey", linestyle=":", label="background"
    )
    right.axhline(1, color="grey", linestyle=":")
    left.set_ylabel("Share of pairs within the TCRdist")
    right.set_ylabel("Ratio to background pairs")
    left.legend(frameon=False, fontsize=8)
    for axis in (left, right):
        axis.set_xlabel("TCRdist")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    return figure


def plot(table: pa.Table, titles: Titles) -> dict:
    data = table.to_pandas()
    shown = list(data.groupby("epitope", sort=False))[:SHOWN]
    first = shown[0][1]
    probabilities = {epitope: _line(line, "probability") for epitope, line in shown}
    probabilities["background"] = _line(first, "background")
    return {
        "kind": "linegraph",
        "data": [probabilities, {epitope: _line(line, "ratio") for epitope, line in shown}],
        "pconfig": {
            "xlab": "TCRdist",
            "ylab": "Share of pairs within the TCRdist",
            "ylog": True,
            "showlegend": True,
            "data_labels": [
                {"name": "Probability", "ylab": "Share of pairs within the TCRdist"},
                {"name": "Ratio to background pairs", "ylab": "Ratio"},
            ],
        },
    }


def _line(data, column: str) -> dict[int, float]:
    """Return threshold → value; the logarithmic axis takes positive values only."""
    known = data[data[column] > 0]
    return {int(x): float(f"{y:.4g}") for x, y in zip(known["tcrdist"], known[column], strict=True)}


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas()
    near = data[data["tcrdist"] == 120].sort_values("probability", ascending=False)
    shares = ", ".join(
        f"{row.epitope} {100 * row.probability:.1f} %" for row in near.head(SHOWN).itertuples()
    )
    return (
        f"Share of receptor pairs with a TCRdist of at most 120, by epitope: {shares}; background pairs:"
        f" {100 * near['background'].iloc[0]:.2f} %. In the paper, the epitopes that are easiest to predict"
        " have the fewest dissimilar pairs, and TFEYVSQPFLMDLE has the most similar pairs."
    )
