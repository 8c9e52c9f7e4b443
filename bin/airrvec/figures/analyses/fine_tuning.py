"""Figure and text of the analysis ``fine_tuning``."""

from airrvec.encoders import Titles
from airrvec.figures.style import style
from airrvec.stats.metrics import auroc

import numpy as np
import pyarrow as pa
from matplotlib import pyplot as plt

TITLE = "Distances before and after fine-tuning"
_SHOWN = 1_500
KINDS = {True: "Co-specific", False: "Cross-specific"}


def draw(table: pa.Table, titles: Titles):
    """Draw distance after against distance before fine-tuning, with histograms on both margins."""
    data = table.to_pandas()
    figure, axes = plt.subplot_mosaic(
        [["top", "."], ["middle", "right"]], figsize=(7, 7), layout="constrained",
        width_ratios=(4, 1), height_ratios=(1, 4),
    )  # fmt: skip
    for index, (same, words) in enumerate(KINDS.items()):
        pairs, colour = data[data["co_specific"] == same], style(1 - index)["color"]
        shown = pairs.sample(min(_SHOWN, len(pairs)), random_state=0)
        axes["middle"].plot(
            shown["distance_before"], shown["distance_after"], ".", markersize=2.5, alpha=0.5, color=colour,
            label=words,
        )  # fmt: skip
        look = {"bins": 60, "density": True, "histtype": "step", "color": colour}
        axes["top"].hist(pairs["distance_before"], **look)
        axes["right"].hist(pairs["distance_after"], orientation="horizontal", **look)
    axes["top"].sharex(axes["middle"])
    axes["right"].sharey(axes["middle"])
    for name in ("top", "right"):
        axes[name].set_axis_off()
    axes["middle"].set_xlabel(f"Distance before: {titles[data['before'].iloc[0]]}")
    axes["middle"].set_ylabel(f"Distance after: {titles[data['after'].iloc[0]]}")
    axes["middle"].legend(frameon=False, markerscale=4)
    axes["middle"].grid(alpha=0.3)
    return figure


def reading(table: pa.Table, titles: Titles) -> str:
    data = table.to_pandas()
    same = data["co_specific"].to_numpy()
    if same.all() or not same.any():
        return "All pairs are of one kind, so there is nothing to compare."
    sentences = {}
    for when in ("before", "after"):
        distances = data[f"distance_{when}"].to_numpy()
        medians = [np.median(distances[kind]) for kind in (same, ~same)]
        area = auroc(distances[same], distances[~same])
        sentences[when] = f"AUROC {area:.3f}, median distances {medians[0]:.2f} and {medians[1]:.2f}"
    return (
        "Co-specific against cross-specific pairs, each of a training and a test receptor. Before"
        f" fine-tuning: {sentences['before']}. After: {sentences['after']}. In the paper, fine-tuning"
        " mainly moves cross-specific pairs, and moves some of them far apart."
    )
