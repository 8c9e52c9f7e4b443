"""Rarefaction curves: clones against the number of cells."""

from airrvec.figures.palette import COLOURS
from airrvec.figures.run.material import (
    FONT,
    WIDTH,
    Results,
    class_title,
    sample_labels,
    several_species,
    shown_samples,
)
from airrvec.figures.samples import main_class
from airrvec.figures.style import plt

import pandas as pd
from matplotlib.ticker import MaxNLocator

TITLE = "Rarefaction"
LEGEND = (
    "Clones among so many cells of a sample, in the class of chains that most of its cells have. Dashed:"
    " extrapolated to twice the sample. A curve that still rises has clones that were not seen."
)
MUCH_LARGER = 20  # times the cells of another sample: axes are logarithmic
_DASHES = ("-", (0, (1, 1)), (0, (4, 1, 1, 1)), (0, (3, 1)), (0, (5, 3)))


def table(results: Results) -> pd.DataFrame:
    """Return the points of `airrvec.core.schema.RAREFACTION` of each sample's main class, with conditions."""
    points = results.read("rarefaction")
    classes = main_class(results.read("diversity", ["sample_id", "species", "chains", "n_cells"]))
    keys = ["sample_id", "species", "chains"]
    return results.with_conditions(points.merge(classes[keys], on=keys))


def draw(table: pd.DataFrame):
    """Draw a line for each sample, in a panel for each class of chains."""
    samples, note = shown_samples(table, "n_drawn")
    classes = table[["species", "chains", "count_unit"]].drop_duplicates()
    figure, axes = plt.subplots(1, len(classes), figsize=(WIDTH, 2.9), layout="constrained", squeeze=False)
    looks = {sample: _look(number) for number, sample in enumerate(samples)}
    labels = dict(zip(samples, sample_labels(table, samples), strict=True))
    several = several_species(table)
    for axis, (species, chains, unit) in zip(axes.flat, classes.itertuples(index=False), strict=True):
        rows = table[
            (table["species"] == species) & (table["chains"] == chains) & (table["count_unit"] == unit)
        ]
        for sample, points in rows[rows["sample_id"].isin(samples)].groupby("sample_id", sort=False):
            points = points.sort_values("n_drawn")
            seen = points[points["method"] != "extrapolated"]
            axis.plot(seen["n_drawn"], seen["hill_0"], label=labels[sample], **looks[sample])
            beyond = points[points["n_drawn"] >= seen["n_drawn"].max()]
            axis.plot(
                beyond["n_drawn"], beyond["hill_0"], linestyle=(0, (2, 2)), linewidth=0.7,
                color=looks[sample]["color"],
            )  # fmt: skip
        axis.set_title(class_title(species, chains, several=several), fontsize=FONT)
        axis.set_xlabel(unit[0].upper() + unit[1:], fontsize=FONT)
        axis.tick_params(labelsize=FONT)
        axis.spines[["top", "right"]].set_visible(False)
        sizes = rows.groupby("sample_id")["n_drawn"].max()
        if sizes.max() > MUCH_LARGER * sizes.min():
            axis.loglog()
        else:
            axis.set_xlim(left=0)
            axis.set_ylim(bottom=0)
            axis.xaxis.set_major_locator(MaxNLocator(3))
            axis.xaxis.set_major_formatter("{x:,.0f}")
            axis.yaxis.set_major_formatter("{x:,.0f}")
    axes[0, 0].set_ylabel("Clones", fontsize=FONT)
    figure.legend(loc="outside right upper", fontsize=FONT - 2, frameon=False, title=note or None,
                  title_fontsize=FONT - 2)  # fmt: skip
    return figure


def _look(number: int) -> dict:
    dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": dash, "linewidth": 1.3}
