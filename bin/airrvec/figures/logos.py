"""Sequence logos of the junctions of clusters."""

from functools import cache
from pathlib import Path as FilePath

from airrvec.core import innate
from airrvec.core.chains import CHAIN_LOCI
from airrvec.core.progress import step
from airrvec.core.tables import named_rows
from airrvec.figures.style import plt, save
from airrvec.repertoire.motifs import letter_heights

import numpy as np
import pandas as pd
import pyarrow as pa
from matplotlib.collections import PathCollection
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

# Okabe and Ito's colours: acidic, basic, polar; the others are black.
_COLOURS = {"DE": "#D55E00", "HKR": "#0072B2", "CGNQSTY": "#009E73", "AFILMPVW": "#000000"}
N_LOGOS = 10  # clusters of a run that are drawn
WIDTH = 0.95  # of a letter, in positions
SMALLEST = 0.01  # bits; a lower letter is not visible


@step("logos")
def draw_logos(clusters: pa.Table, positions: pa.Table, n: int, stem: FilePath) -> None:
    """Draw junction logos of the ``n`` largest clusters, one row each, to ``stem``.svg and ``stem``.png."""
    shown = clusters.to_pandas().sort_values("n_receptors", ascending=False, kind="stable").head(n)
    save(logos(shown, positions.to_pandas()), stem)


def logos(shown: pd.DataFrame, positions: pd.DataFrame):
    """
    Return a figure with a row of logos for each cluster.

    Parameters
    ----------
    shown : DataFrame
        Rows of `airrvec.core.schema.CLUSTERS`, in the order of the figure.
    positions : DataFrame
        `airrvec.core.schema.CLUSTER_MOTIFS` of these clusters, and any others.
    """
    frequency_groups = positions.groupby(["cluster_id", "locus"])
    figure, axes = plt.subplots(
        len(shown), 2, figsize=(8, 1.1 * len(shown)), squeeze=False, layout="constrained"
    )
    for row, cluster in zip(axes, named_rows(shown), strict=True):
        for axis, locus in zip(row, ("TRA", "TRB"), strict=True):
            if locus not in CHAIN_LOCI[cluster.chains]:
                axis.set_visible(False)
                continue
            draw_logo(frequency_groups.get_group((cluster.cluster_id, locus)), axis)
            genes = (getattr(cluster, f"{locus.lower()}_{gene}_call") for gene in "vj")
            kind = f"{100 * cluster.innate_share:.0f} % {cluster.innate_like}"
            words = [f"{cluster.n_receptors} receptors", " ".join(gene for gene in genes if gene)]
            words += [kind] if cluster.innate_share >= innate.MAJORITY else []
            axis.set_title(", ".join(words), fontsize=8)
            axis.set_xticks([])
            axis.set_yticks([0, 2, 4])
            axis.tick_params(labelsize=7)
            axis.set_ylabel("bits", fontsize=7)
    return figure


def draw_logo(frequencies: pd.DataFrame, axis) -> None:
    """Draw a logo from `airrvec.repertoire.motifs.residue_frequencies`, highest letter on top."""
    heights = letter_heights(frequencies)
    glyphs, colours = [], []
    for place, letters in zip(heights.index, heights.to_numpy(), strict=True):
        order = np.argsort(letters, kind="stable")
        for number, top in zip(order, np.cumsum(letters[order]), strict=True):
            height, letter = letters[number], heights.columns[number]
            if height > SMALLEST:
                box = Affine2D().scale(WIDTH, height).translate(place - WIDTH / 2, top - height)
                glyphs.append(_glyph(letter).transformed(box))
                colours.append(_colour(letter))
    axis.add_collection(PathCollection(glyphs, facecolors=colours, linewidths=0), autolim=False)
    axis.set_xlim(heights.index[0] - 0.5, heights.index[-1] + 0.5)
    axis.set_ylim(0, np.log2(20))
    axis.spines[:].set_visible(False)


@cache
def _glyph(letter: str) -> Path:
    """Return the outline of a letter in a box of width and height 1; one narrower than E stays narrow."""
    outline, reference = (
        TextPath((0, 0), text, size=1, prop=FontProperties(family="sans", weight="bold"))
        for text in (letter, "E")
    )
    box = outline.get_extents()
    widest = max(box.width, reference.get_extents().width)
    to_box = Affine2D().translate(-(box.x0 + box.x1) / 2, -box.y0).scale(1 / widest, 1 / box.height)
    return outline.transformed(to_box.translate(0.5, 0))


def _colour(letter: str) -> str:
    return next(colour for letters, colour in _COLOURS.items() if letter in letters)
