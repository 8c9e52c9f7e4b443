"""What the figures of a run share: its tables, its samples in order, bars and heat maps of samples."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from airrvec.core import tables
from airrvec.core.chains import CHAIN_TITLES
from airrvec.core.schema import TABLES
from airrvec.core.terminal import shortened
from airrvec.figures.palette import OTHER_COLOUR
from airrvec.figures.style import escape_mathtext, plt
from airrvec.input import species_names

import numpy as np
import pandas as pd
import pyarrow as pa

MAX_SAMPLES = 30  # of a figure; its table has all
WIDTH = 5.2  # inches, of a figure
FONT = 8
LONGEST = 28  # letters of a label
_BAR = 0.19  # inches, the height of a sample's bar
_NEEDED = {
    "annotation": "--annotate",
    "benchmark": "--labelled",
    "clusters": "--cluster",
    "comparison": "--compare",
}


class NotDrawn(Exception):
    """A figure that the run has no numbers for; the reason is a sentence without a full stop."""


@dataclass(frozen=True)
class Results:
    """
    The published tables of a run, and what it knows of its samples.

    Attributes
    ----------
    folder : Path
        As ``--outdir``. ``samples/samples.qc.json``, if there is one, has the condition of each sample.
    """

    folder: Path

    def path(self, name: str) -> Path:
        """
        Return the file of a table of `airrvec.core.schema.TABLES`.

        Raises
        ------
        NotDrawn
            If the run has none.
        """
        path = self.folder / TABLES[name].file
        if not path.exists():
            option = _NEEDED.get(Path(TABLES[name].file).parts[0])
            missing = f"there is no {TABLES[name].file}"
            raise NotDrawn(f"{missing}, which {option} makes" if option else missing)
        return path

    def read(self, name: str, columns: list[str] | None = None) -> pd.DataFrame:
        """Return a table, or some of its columns, as of `path`."""
        return tables.read(self.path(name), columns).to_pandas()

    def json(self, name: str) -> dict:
        """Return the content of a JSON file; {} if there is none."""
        path = self.folder / name
        return json.loads(path.read_text("utf-8")) if path.exists() else {}

    @cached_property
    def conditions(self) -> dict[str, str]:
        """Condition of each sample that has one, by ``--compare_by``."""
        return self.json("samples/samples.qc.json").get("of_sample", {})

    @cached_property
    def first_counts(self) -> pd.DataFrame:
        """First row of each sample in ``clone_counts``, which may have ten million: sample, clone, unit."""
        counts = tables.read(self.path("clone_counts"), ["sample_id", "clone_id", "count_unit"])
        sample = tables.contiguous(counts["sample_id"]).dictionary_encode()
        _, first = np.unique(sample.indices.to_numpy(), return_index=True)
        return counts.take(pa.array(np.sort(first))).to_pandas()

    @cached_property
    def donors(self) -> dict[str, str]:
        """Donor of each sample that has a clone."""
        clones = tables.is_one_of("clone_id", self.first_counts["clone_id"].tolist())
        donors = tables.read_filtered(self.path("clones"), clones, ["clone_id", "donor"]).to_pandas()
        rows = self.first_counts.merge(donors, on="clone_id")
        return dict(zip(rows["sample_id"], rows["donor"], strict=True))

    def with_conditions(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return rows with their sample's condition beside ``sample_id``, null if it has none, in order."""
        place = list(rows.columns).index("sample_id") + 1
        rows = rows.copy()
        rows.insert(place, "condition", rows["sample_id"].map(self.conditions).astype(object))
        return rows.sort_values(["condition", "sample_id"], kind="stable", ignore_index=True)


def several_species(rows: pd.DataFrame) -> bool:
    """Return whether rows are of more than one species."""
    return len(rows["species"].unique()) > 1


def class_title(species: str, chains: str, *, several: bool) -> str:
    """Return the title of a class of chains; with several species, it names them."""
    words = CHAIN_TITLES[chains]
    return f"{words}, {species_names.TITLES[species]}" if several else words


def shown_samples(rows: pd.DataFrame, weight: str) -> tuple[list[str], str]:
    """
    Return the samples that a figure shows, in the order of the rows, and a note on the samples left out.

    Parameters
    ----------
    rows : DataFrame
        With ``sample_id``.
    weight : str
        Column; of more than `MAX_SAMPLES`, those with the largest sums are shown.
    """
    sums = rows.groupby("sample_id", sort=False)[weight].sum()
    if len(sums) <= MAX_SAMPLES:
        return list(sums.index), ""
    kept = set(sums.nlargest(MAX_SAMPLES, keep="first").index)
    note = f"{MAX_SAMPLES} of {len(sums):,} samples; all are in the table"
    return [sample for sample in sums.index if sample in kept], note


def sample_labels(rows: pd.DataFrame, samples: Iterable[str]) -> list[str]:
    """Return the name of each sample on an axis, with its condition before it."""
    condition = rows.drop_duplicates("sample_id").set_index("sample_id")["condition"].dropna().to_dict()
    return [joined_label(condition.get(sample), sample) for sample in samples]


def joined_label(*words: str | None) -> str:
    """Return words for an axis, joined by colons; a word that comes twice stands at its last place."""
    last_first = dict.fromkeys(word for word in reversed(words) if word)
    return escape_mathtext(shortened(": ".join(reversed(last_first)), LONGEST))


def bars(values: pd.DataFrame, labels: list[str], colours: list[str], note: str, xlabel: str):
    """
    Draw horizontal bars of shares, one per sample, first on top.

    Parameters
    ----------
    values : DataFrame
        Shares from 0 to 1; index: samples, columns: parts of a bar, from left to right.
    labels, colours : list of str
        Of the rows and of the columns.
    note : str
        Below the axis; may be empty.
    """
    height = max(1.9, 1.1 + _BAR * len(values))
    figure, axis = plt.subplots(figsize=(WIDTH, height), layout="constrained")
    left = np.zeros(len(values))
    places = np.arange(len(values))
    for name, colour in zip(values.columns, colours, strict=True):
        widths = 100 * values[name].to_numpy()
        drawn = widths > 0  # a bar without a width would be a hairline
        label = escape_mathtext(shortened(name, LONGEST))
        axis.barh(places[drawn], widths[drawn], 0.8, left=left[drawn], color=colour, label=label, linewidth=0)
        left += widths
    axis.set_yticks(places, labels, fontsize=FONT)
    axis.set_ylim(len(values) - 0.4, -0.6)
    axis.set_xlim(0, max(left.max() * 1.02, 0.1) if left.max() < 95 else 100)
    axis.set_xlabel(f"{xlabel}\n({note})" if note else xlabel, fontsize=FONT)
    axis.tick_params(axis="x", labelsize=FONT)
    axis.spines[["top", "right"]].set_visible(False)
    columns = 3 if max(map(len, values.columns)) < 20 else 2
    figure.legend(loc="outside upper left", ncols=columns, fontsize=FONT - 1, frameon=False, handlelength=1.2)
    return figure


def heat_map(values: pd.DataFrame, rows: list[str], columns: list[str], label: str, note: str = ""):
    """
    Draw a table of numbers from 0 on, darker where they are larger; NaN is grey.

    Parameters
    ----------
    values : DataFrame
    rows, columns : list of str
        Labels.
    label : str
        Of the numbers.
    note : str
        Below the axis; may be empty.
    """
    height = 1.2 + 0.17 * len(values) + 0.05 * max(map(len, columns))
    figure, axis = plt.subplots(figsize=(WIDTH, max(height, 2.4)), layout="constrained")
    axis.set_facecolor("#E4E4E4")
    # Not an image: rectangles stay sharp, and are vectors in each format.
    mesh = axis.pcolormesh(
        np.ma.masked_invalid(values.to_numpy(float)), cmap="Blues", vmin=0, edgecolors="white", linewidth=0.4
    )
    upright = sum(map(len, columns)) > 40
    axis.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90 if upright else 0, fontsize=FONT - 1)
    axis.set_yticks(np.arange(len(rows)) + 0.5, rows, fontsize=FONT - 1)
    axis.invert_yaxis()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = figure.colorbar(mesh, ax=axis, shrink=0.8, aspect=25, pad=0.02)
    bar.set_label(label, fontsize=FONT)
    bar.ax.tick_params(labelsize=FONT - 1)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_rasterized(False)
    if note:
        axis.set_xlabel(f"({note})", fontsize=FONT)
    return figure


def colours_of(names: list[str], palette: tuple[str, ...], rest: str | None = None) -> list[str]:
    """Return a colour for each name, in the order of a palette; ``rest`` is grey."""
    return [OTHER_COLOUR if name == rest else palette[n % len(palette)] for n, name in enumerate(names)]
