"""
Cluster receptors with another program, or measure clusters with clustereval, in an environment of its own.

    python clustering_peer_run.py METHOD receptors.csv clusters.csv

``receptors.csv`` has the columns CDR3A, TRAV, CDR3B, TRBV; ``clusters.csv`` a number per row, -1 for a
receptor in no cluster. For clustereval, ``receptors.csv`` has the columns ``epitope`` and ``cluster``.
"""

import sys

import numpy as np
import pandas as pd


def clustcr(receptors: pd.DataFrame, paired: bool) -> np.ndarray:
    """Run clusTCR's default: faiss, then Markov clustering of CDR3s that differ in one residue."""
    import networkx
    from imw_clustcr import Clustering
    from scipy import sparse

    # Markov clustering takes the powers of a matrix; scipy's sparse arrays have powers of their elements.
    array = networkx.to_scipy_sparse_array
    networkx.to_scipy_sparse_array = lambda graph: sparse.csr_matrix(array(graph))
    junctions = receptors["CDR3B"] + (receptors["CDR3A"] if paired else "")
    distinct = receptors.assign(junctions=junctions).drop_duplicates("junctions")
    alpha = distinct["CDR3A"] if paired else None
    found = Clustering(n_cpus=1).fit(distinct["CDR3B"], alpha=alpha).clusters_df
    return _of_junctions(junctions, dict(zip(found.iloc[:, 0], found["cluster"], strict=True)))


def gliph2(receptors: pd.DataFrame) -> np.ndarray:
    """Run pygliph's GLIPH2; a receptor in several clusters goes to the one with the best score."""
    import pygliph

    found = pygliph.gliph2(receptors[["CDR3B", "TRBV"]].rename(columns={"CDR3B": "CDR3b"}))
    scores = found["cluster_properties"].set_index("tag")["total.score"].astype(float)
    best = {}
    for number, tag in enumerate(scores.sort_values(kind="stable").index):
        for junction in found["cluster_list"][tag]["CDR3b"]:
            best.setdefault(junction, number)
    return _of_junctions(receptors["CDR3B"], best)


def metaclonotypist(receptors: pd.DataFrame, chain: str, radius: float) -> np.ndarray:
    """Run metaclonotypist's clusters: TCRdist among CDR3s of at most two edits, and the Leiden algorithm."""
    from metaclonotypist import metaclonotypist

    alleles = receptors.assign(
        TRAV=receptors["TRAV"].str.replace(r"(\*.*)?$", "*01", n=1, regex=True),
        TRBV=receptors["TRBV"].str.replace(r"(\*.*)?$", "*01", n=1, regex=True),
        row=np.arange(len(receptors)),
    )
    found = metaclonotypist(
        alleles,
        chain=chain,
        max_tcrdist=radius,
        clustering="leiden",
        clustering_kwargs={"resolution": 0.1, "objective_function": "CPM", "n_iterations": 4},
        node_label="row",
    )
    label = np.full(len(receptors), -1)
    label[found["node"]] = found["cluster"]
    return label


def clustereval_scores(table: pd.DataFrame) -> np.ndarray:
    """Return clustereval's measures of clusters; each receptor in no cluster is a cluster by itself."""
    import clustereval

    alone = table["cluster"] < 0
    cluster = np.where(alone, table["cluster"].max() + 1 + np.arange(len(table)), table["cluster"])
    names = ("homogeneity", "parsimony", "q_measure", "pair_sensitivity", "pair_specificity")
    return np.array([getattr(clustereval, f"{name}_score")(table["epitope"], cluster) for name in names])


def _of_junctions(junctions: pd.Series, cluster: dict) -> np.ndarray:
    return junctions.map(cluster).fillna(-1).astype(int).to_numpy()


METHODS = {
    "clusTCR, β": lambda table: clustcr(table, paired=False),
    "clusTCR, α and β": lambda table: clustcr(table, paired=True),
    "GLIPH2 (pygliph), β": gliph2,
    **{
        f"metaclonotypist, β, {radius}": lambda table, radius=radius: metaclonotypist(table, "beta", radius)
        for radius in (15, 30)
    },
    **{
        f"metaclonotypist, α and β, {radius}": lambda table, radius=radius: metaclonotypist(
            table, "both", radius
        )
        for radius in (60, 90, 120)
    },
    "clustereval": clustereval_scores,
}

if __name__ == "__main__":
    method, source, target = sys.argv[1:]
    pd.Series(METHODS[method](pd.read_csv(source)), name="cluster").to_csv(target, index=False)
