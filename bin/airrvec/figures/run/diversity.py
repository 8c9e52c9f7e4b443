"""Diversity of each sample at equal coverage, by condition where there is one."""

from airrvec.core.terminal import shortened
from airrvec.figures.palette import COLOURS, OTHER_COLOUR
from airrvec.figures.run.material import (
    FONT,
    LONGEST,
    WIDTH,
    NotDrawn,
    Results,
    class_title,
    several_species,
    shown_samples,
)
from airrvec.figures.samples import main_class
from airrvec.figures.style import escape_mathtext, plt

import numpy as np
import pandas as pd

TITLE = "Diversity"
LEGEND = (
    "Effective number of clones (Hill number of order 1) of each sample, in the class of chains that most of"
    " its cells have, at the coverage at which all samples of a class are compared."
)
_VALUE = "hill_1_at_coverage"
_NO_CONDITION = "no condition"
MUCH_LARGER = 20  # times another sample's: the axis is logarithmic


def table(results: Results) -> pd.DataFrame:
    """Return the rows of `airrvec.core.schema.DIVERSITY` of each sample's main class, with its condition."""
    rows = main_class(results.read("diversity"))
    if rows[_VALUE].notna().sum() < 2:
        reasons = ", ".join(sorted(rows["method"].unique()))
        raise NotDrawn(f"fewer than two samples can be compared at equal coverage ({reasons})")
    return results.with_conditions(rows)


def draw(table: pd.DataFrame):
    """Draw a dot for each comparable sample: a column for each condition, or a line for each sample."""
    rows = table[table[_VALUE].notna()]
    classes = rows[["species", "chains"]].drop_duplicates()
    grouped = 1 < len(rows["condition"].dropna().unique()) < len(rows)
    draw_panel = _columns if grouped else _lines
    height = 2.7 if grouped else max(2.0, 1.2 + 0.19 * min(len(rows), 30))
    figure, axes = plt.subplots(1, len(classes), figsize=(WIDTH, height), layout="constrained", squeeze=False)
    several = several_species(table)
    for axis, (species, chains) in zip(axes.flat, classes.itertuples(index=False), strict=True):
        draw_panel(axis, rows[(rows["species"] == species) & (rows["chains"] == chains)])
        axis.set_title(class_title(species, chains, several=several), fontsize=FONT)
        axis.tick_params(labelsize=FONT)
        axis.spines[["top", "right"]].set_visible(False)
    left_out = len(table) - len(rows)
    if left_out:
        figure.supxlabel(
            f"{left_out} of {len(table)} samples cannot be compared: too few cells or no repeated clone",
            fontsize=FONT - 1,
        )
    return figure


def _columns(axis, rows: pd.DataFrame) -> None:
    condition = rows["condition"].fillna(_NO_CONDITION)
    names = list(condition.unique())
    for place, name in enumerate(names):
        values = np.sort(rows.loc[condition == name, _VALUE].to_numpy())
        spread = (np.arange(len(values)) - (len(values) - 1) / 2) * min(0.12, 0.6 / len(values))
        colour = OTHER_COLOUR if name == _NO_CONDITION else COLOURS[place % len(COLOURS)]
        axis.plot(place + spread, values, "o", color=colour, markersize=4)
        axis.plot([place - 0.25, place + 0.25], [np.median(values)] * 2, color="#333333", linewidth=1.2)
    axis.set_xticks(range(len(names)), [escape_mathtext(shortened(name, 16)) for name in names])
    axis.set_xlim(-0.6, len(names) - 0.4)
    if rows[_VALUE].max() > MUCH_LARGER * rows[_VALUE].min():
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_ylabel("Effective clones\n(line: median)", fontsize=FONT)


def _lines(axis, rows: pd.DataFrame) -> None:
    samples, note = shown_samples(rows, "n_cells")
    values = rows.set_index("sample_id")[_VALUE].reindex(samples)
    axis.grid(axis="y", color="#E4E4E4")
    axis.plot(values, range(len(values)), "o", color=COLOURS[0], markersize=4)
    axis.set_yticks(range(len(values)), [escape_mathtext(shortened(name, LONGEST)) for name in values.index])
    axis.set_ylim(len(values) - 0.5, -0.5)
    if values.max() > MUCH_LARGER * values.min():
        axis.set_xscale("log")
    else:
        axis.set_xlim(left=0)
    axis.set_xlabel(f"Effective clones\n({note})" if note else "Effective clones", fontsize=FONT)
