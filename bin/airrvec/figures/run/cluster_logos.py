"""Junctions of the largest clusters, as sequence logos."""

from airrvec.figures.logos import N_LOGOS, logos
from airrvec.figures.run.material import NotDrawn, Results

import pandas as pd

TITLE = "Junctions of the largest clusters"
LEGEND = "Sequence logos of both junctions of each cluster, largest first. Letter height shows conservation."
_COLUMNS = (
    *("cluster_id", "n_receptors", "chains", "tra_v_call", "tra_j_call", "trb_v_call", "trb_j_call"),
    *("innate_like", "innate_share"),
)


def table(results: Results) -> pd.DataFrame:
    """Return the frequencies of `airrvec.core.schema.CLUSTER_MOTIFS`, with their clusters, largest first."""
    clusters = results.read("clusters", list(_COLUMNS))
    if clusters.empty:
        raise NotDrawn("no receptors make a cluster")
    largest = clusters.sort_values("n_receptors", ascending=False, kind="stable").head(N_LOGOS)
    return largest.merge(results.read("motifs"), on="cluster_id")


def draw(table: pd.DataFrame):
    """Draw a row for each cluster, with a logo for each chain."""
    clusters = table.drop_duplicates("cluster_id")[list(_COLUMNS)]
    return logos(clusters, table[["cluster_id", "locus", "position", "residue", "frequency"]])
