"""Labels of clusters: how many members carry an epitope, and whether they are more than chance puts there."""

from airrvec.stats.permutation import benjamini_hochberg

import numpy as np
import pandas as pd
import scipy  # whose parts are imported on use

COLUMNS = (
    "n_labelled",
    "n_epitopes",
    "epitope",
    "n_with_epitope",
    "epitope_expected",
    "epitope_p",
    "epitope_fdr",
)


def label_clusters(cluster: np.ndarray, labels: pd.DataFrame) -> pd.DataFrame:
    """
    Return the epitope that is most enriched among the labelled members of each cluster.

    A cluster's labelled members are compared with a random draw of as many from the labelled receptors of all
    clusters and of none: one-sided hypergeometric test, for each epitope that a cluster holds.

    Parameters
    ----------
    cluster : ndarray of int64, shape (n,)
        Cluster number of each receptor, from 0; -1 for an unclustered receptor.
    labels : DataFrame
        ``receptor`` (position in ``cluster``) and ``epitope``, each pair once.

    Returns
    -------
    DataFrame
        `COLUMNS`, one row per cluster. ``epitope``: that with the lowest p, of equal ones the more frequent,
        then the first in the alphabet. ``epitope_expected``: number of members with it by chance.
        ``epitope_fdr``: false discovery rate by Benjamini and Hochberg, over all epitopes of all clusters.
    """
    labels = labels.assign(cluster=cluster[labels["receptor"].to_numpy(int)])
    totals = labels.groupby("epitope")["receptor"].nunique()
    inside = labels[labels["cluster"] >= 0]
    n_labelled = inside.groupby("cluster")["receptor"].nunique()
    pairs = (
        inside.groupby(["cluster", "epitope"])["receptor"].nunique().rename("n_with_epitope").reset_index()
    )
    n_receptors, drawn = labels["receptor"].nunique(), pairs["cluster"].map(n_labelled)
    carrying = pairs["epitope"].map(totals)
    pairs["epitope_expected"] = drawn * carrying / max(n_receptors, 1)
    pairs["epitope_p"] = scipy.stats.hypergeom.sf(
        pairs["n_with_epitope"].to_numpy() - 1, n_receptors, carrying.to_numpy(float), drawn.to_numpy(float)
    )
    pairs["epitope_fdr"] = benjamini_hochberg(pairs["epitope_p"].to_numpy(float))
    order = pairs.sort_values(
        ["cluster", "epitope_p", "n_with_epitope", "epitope"], ascending=[True, True, False, True]
    )
    table = pd.DataFrame(index=pd.RangeIndex(cluster.max(initial=-1) + 1))
    table = table.join(order.drop_duplicates("cluster").set_index("cluster"))
    table["n_labelled"] = n_labelled
    table["n_epitopes"] = pairs["cluster"].value_counts()
    counts = ["n_labelled", "n_epitopes", "n_with_epitope"]
    table[counts] = table[counts].fillna(0).astype("int64")
    table["epitope"] = table["epitope"].astype(object).where(table["epitope"].notna(), None)
    return table[list(COLUMNS)]
