"""Sequence logos of the junctions of clusters."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from airrvec.core.chains import CHAIN_LOCI
from airrvec.figures.style import plt, save
from airrvec.repertoire.motifs import letter_heights

# Okabe and Ito's colours: acidic, basic, polar; the others are black.
_COLOURS = {"DE": "#D55E00", "HKR": "#0072B2", "CGNQSTY": "#009E73", "AFILMPVW": "#000000"}


def draw_logos(clusters: pa.Table, positions: pa.Table, n: int, stem: Path) -> None:
    """Draw junction logos of the ``n`` largest clusters, one row each, to ``stem``.svg and ``stem``.png."""
    shown = clusters.to_pandas().sort_values("n_receptors", ascending=False, kind="stable").head(n)
    frequency_groups = positions.to_pandas().groupby(["cluster_id", "locus"])
    figure, axes = plt.subplots(
        len(shown), 2, figsize=(8, 1.1 * len(shown)), squeeze=False, layout="constrained"
    )
    for row, cluster in zip(axes, shown.itertuples(), strict=True):
        for axis, locus in zip(row, ("TRA", "TRB"), strict=True):
            if locus not in CHAIN_LOCI[cluster.chains]:
                axis.set_visible(False)
                continue
            draw_logo(frequency_groups.get_group((cluster.cluster_id, locus)), axis)
            genes = (getattr(cluster, f"{locus.lower()}_{gene}_call") for gene in "vj")
            axis.set_title(f"{cluster.n_receptors} receptors, {' '.join(g for g in genes if g)}", fontsize=8)
            axis.set_xticks([])
            axis.set_yticks([0, 2, 4])
            axis.tick_params(labelsize=7)
            axis.set_ylabel("bits", fontsize=7)
    save(figure, stem)


def draw_logo(found: pd.DataFrame, axis) -> None:
    """Draw the logo of `airrvec.repertoire.motifs.frequencies` on a matplotlib axis."""
    import logomaker

    logomaker.Logo(letter_heights(found), ax=axis, color_scheme=_COLOURS, show_spines=False)
    axis.set_ylim(0, np.log2(20))
