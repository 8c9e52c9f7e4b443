"""
γδ T cells: their distinct receptors, and clusters of these by TCRdist.

The models have learnt α and β chains alone, so that γδ receptors have no vector. OLGA has no model of their
recombination, so that their number of neighbours by chance is unknown: the radius is fixed.
"""

from collections.abc import Iterator
from pathlib import Path

from airrvec.core import identity, schema, tables
from airrvec.core.chains import chain_classes, receptor_names
from airrvec.core.progress import step
from airrvec.encoders.tcrdist import Tcrdist
from airrvec.encoders.tcrdist_loops import is_measurable
from airrvec.repertoire import clustering
from airrvec.repertoire.motifs import common_genes, consensus, residue_frequencies

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

LINEAGE = schema.GAMMA_DELTA
# Classes of chains that are clustered, their loci, and the largest distance between neighbours: 24 for each
# chain, as of two residues of the CDR3, each unlike the other's (3 × 4). A γ chain without its δ chain is not
# clustered: those of Vγ9 cells differ little between people.
COMPARED = {"paired": (LINEAGE.loci, 48), "delta": (LINEAGE.loci[1:], 24)}
_TOTALS = ("n_cells", "n_samples", "n_donors", "count_unit")
BLOCK = 1_000  # receptors whose distances to all are in memory at once


@step("receptors of γδ cells")
def read_receptors(cells: list[Path]) -> pa.Table:
    """
    Return `airrvec.core.schema.GAMMA_DELTA_RECEPTORS`: the distinct receptors of all samples.

    Parameters
    ----------
    cells : list of Path
        `airrvec.core.schema.GAMMA_DELTA_CELLS` of each sample.
    """
    counted_here = ("chain_pairing", "n_samples", *LINEAGE.genes)
    columns = [name for name in schema.GAMMA_DELTA_RECEPTORS.names if name not in counted_here]
    parts = [tables.read(path, ["sample_id", *columns]) for path in cells]
    carried = pa.concat_tables(
        [schema.GAMMA_DELTA_CELLS.empty_table().select(["sample_id", *columns]), *parts]
    )
    samples = carried.group_by("clonotype_id").aggregate([("sample_id", "count_distinct")])
    receptors = carried.select(columns).group_by(columns).aggregate([])
    place = pc.index_in(receptors["clonotype_id"], samples["clonotype_id"].combine_chunks())
    n_samples = samples["sample_id_count_distinct"].take(place).cast(pa.int32())
    words = dict(zip(LINEAGE.chains, (schema.SINGLE_PAIR, schema.ORPHAN_VJ, schema.ORPHAN_VDJ), strict=True))
    pairing = [words[chains] for chains in chain_classes(receptors, LINEAGE)]
    receptors = receptors.append_column("chain_pairing", pa.array(pairing, pa.string()))
    receptors = identity.with_genes(receptors.append_column("n_samples", n_samples), LINEAGE)
    receptors = receptors.select(schema.GAMMA_DELTA_RECEPTORS.names)
    order = [("clonotype_id", "ascending"), ("receptor_id", "ascending")]
    return receptors.sort_by(order).cast(schema.GAMMA_DELTA_RECEPTORS)


def clusters_table(
    clones: pa.Table, counts: pa.Table, method: str = "leiden", *, seed: int = 420
) -> tuple[pa.Table, pa.Table]:
    """
    Return clusters of the clonotypes of γδ clones by TCRdist, and the clones with their cluster.

    Neighbours are at most as far from each other as `COMPARED` states. A clonotype whose V gene has no loops
    in TCRdist is in no cluster.

    Parameters
    ----------
    clones : pyarrow.Table
        `airrvec.core.schema.COUNTED_CLONES` of γδ cells (`airrvec.repertoire.clones.count_clones`).
    counts : pyarrow.Table
        `airrvec.core.schema.CLONE_COUNTS` of these clones.
    method : {"leiden", "components"}
    seed : int
        Of the Leiden algorithm.

    Returns
    -------
    clusters : pyarrow.Table
        `airrvec.core.schema.GAMMA_DELTA_CLUSTERS`.
    clones : pyarrow.Table
        `airrvec.core.schema.GAMMA_DELTA_CLONES`.
    """
    named = clones.append_column("name", receptor_names(clones, lineage=LINEAGE)).to_pandas()
    receptors = named.drop_duplicates("clonotype_id").reset_index(drop=True)
    cluster_of = {}
    rows = []
    for species, chains, members in _clusters(receptors, method, seed):
        in_cluster = receptors.loc[members.index]
        name = clustering.cluster_id(in_cluster["clonotype_id"].tolist())
        cluster_of |= dict.fromkeys(in_cluster["clonotype_id"], name)
        centre = in_cluster.loc[members["distance"].idxmin()]
        row = {"centre": centre["name"], "species": species, "chains": chains, "n_receptors": len(members)}
        row |= {"centre_neighbours": members["neighbours"][centre.name], "centre_id": centre["receptor_id"]}
        for locus in COMPARED[chains][0]:
            frequencies = residue_frequencies(in_cluster[schema.field(locus, "junction_aa")].tolist())
            row |= common_genes(in_cluster, locus) | {f"{locus.lower()}_consensus": consensus(frequencies)}
        rows.append(row | {"cluster_id": name})
    in_clusters = named["clonotype_id"].map(cluster_of).astype(object)
    ids = pa.array(in_clusters.where(in_clusters.notna(), None), pa.string())
    clones = clones.append_column("cluster_id", ids)
    names = schema.GAMMA_DELTA_CLUSTERS.names
    clusters = pd.DataFrame(rows, columns=[name for name in names if name not in _TOTALS])
    clusters = clusters.merge(_totals(clones, counts), on="cluster_id", how="left")
    table = pa.Table.from_pandas(clusters[names], schema.GAMMA_DELTA_CLUSTERS, preserve_index=False)
    return table, clones.select(schema.GAMMA_DELTA_CLONES.names)


def _clusters(receptors: pd.DataFrame, method: str, seed: int) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """
    Yield species, class of chains and members of each cluster.

    The members have the index of ``receptors``; ``distance`` is the sum of distances to the others, and
    ``neighbours`` the number of receptors within the radius.
    """
    for species in schema.SPECIES:
        for chains, (loci, radius) in COMPARED.items():
            group = receptors[(receptors["species"] == species) & (receptors["chains"] == chains)]
            fields = ["species", *LINEAGE.receptor_fields]
            table = pa.table({name: pa.array(group[name], pa.string(), from_pandas=True) for name in fields})
            known = is_measurable(table, loci) if len(group) else np.zeros(0, bool)
            if known.sum() < 2:
                continue
            rows, table = group.index[known], table.filter(pa.array(known))
            graph = neighbours(table, loci, radius)
            label = clustering.assign_clusters(graph, method, seed=seed)
            distance_rows = Tcrdist(loci).distance_rows(table)
            for members in clustering.members(label):
                within = distance_rows(members)[:, members].sum(axis=1, dtype=np.int64)
                near = np.diff(graph.indptr)[members]
                yield species, chains, pd.DataFrame({"distance": within, "neighbours": near}, rows[members])


@step("TCRdist of γδ receptors")
def neighbours(receptors: pa.Table, loci: tuple[str, ...], radius: int) -> sparse.csr_array:
    """
    Return the graph of receptors within a radius by TCRdist, csr_array of float32, shape (n, n).

    Parameters
    ----------
    receptors : pyarrow.Table
        Measurable ones (`airrvec.encoders.tcrdist_loops.is_measurable`).
    loci : tuple of str
        Chains that are compared.
    radius : int
        Largest distance of neighbours.
    """
    n, distance_rows = len(receptors), Tcrdist(loci).distance_rows(receptors)
    first, second = [], []
    for start in range(0, n, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n))
        near, other = np.nonzero(distance_rows(rows) <= radius)
        first.append(near + start)
        second.append(other)
    pairs = np.concatenate([np.empty(0, np.int64), *first]), np.concatenate([np.empty(0, np.int64), *second])
    apart = pairs[0] != pairs[1]
    ends = pairs[0][apart], pairs[1][apart]
    return sparse.coo_array((np.ones(len(ends[0]), np.float32), ends), (n, n)).tocsr()


def _totals(clones: pa.Table, counts: pa.Table) -> pd.DataFrame:
    """Return cells, samples and donors of each cluster; cells of several units have no sum."""
    known = clones.select(["clone_id", "donor", "cluster_id"]).to_pandas().dropna(subset="cluster_id")
    joined = known.merge(counts.select(["clone_id", "sample_id", "n_cells", "count_unit"]).to_pandas())
    groups = joined.groupby("cluster_id")
    one = groups["count_unit"].nunique() == 1  # noqa: PD101 - of groups
    return pd.DataFrame(
        {
            "n_cells": groups["n_cells"].sum().astype("Int64").where(one),
            "n_samples": groups["sample_id"].nunique(),
            "n_donors": groups["donor"].nunique(),
            "count_unit": groups["count_unit"].first().where(one, None),
        }
    ).reset_index()
