"""Tables of clusters: members, genes and motifs, labels, comparison of conditions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.antigens import ANTIGEN_FIELDS, mhc_name
from airrvec.core.chains import CHAIN_CLASSES, CHAIN_LOCI, receptor_names
from airrvec.core.progress import step
from airrvec.repertoire import clustering
from airrvec.repertoire.clustering import Neighbourhood, cluster_id
from airrvec.repertoire.motifs import common_genes, commonest, consensus, residue_frequencies
from airrvec.repertoire.repertoires import Repertoires
from airrvec.stats.significance import benjamini_hochberg
from airrvec.synthetic import generation

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy  # whose parts are imported on use

# --- Antigens of the epitopes of clusters, from the labels of the run

ANTIGEN_COLUMNS = ("antigen_gene", "antigen_species", "mhc")


def describe_epitopes(paths: list[Path]) -> pd.DataFrame:
    """
    Return the antigen of each epitope in some tables of cells.

    Returns
    -------
    DataFrame
        Index ``epitope``; `COLUMNS`: the most frequent value of its labels, or None.
    """
    columns = ["epitope", *ANTIGEN_FIELDS]
    counts = pa.concat_tables(
        [tables.read_filtered(path, pc.is_valid(pc.field("epitope")), columns) for path in paths]
    )
    counts = counts.group_by(columns).aggregate([([], "count_all")]).to_pandas()
    epitopes = pd.Index(sorted(counts["epitope"].unique()), name="epitope")
    fields = {
        name: tables.most_frequent(counts, ["epitope"], name, counts="count_all").reindex(epitopes)
        for name in ANTIGEN_FIELDS
    }
    described = pd.DataFrame(fields, index=epitopes).astype(object)
    described = described.where(described.notna(), None)
    described["mhc"] = [
        mhc_name(*chains) for chains in zip(described["mhc_a"], described["mhc_b"], strict=True)
    ]
    return described[list(ANTIGEN_COLUMNS)]


def with_antigens(clusters: pa.Table, described: pd.DataFrame) -> pa.Table:
    """Return the clusters with the antigen of their epitope, from `describe_epitopes`; null without one."""
    for name in ANTIGEN_COLUMNS:
        antigen = described[name].to_dict()
        values = pa.array([antigen.get(epitope) for epitope in clusters["epitope"].to_pylist()], pa.string())
        clusters = clusters.set_column(clusters.column_names.index(name), name, values)
    return clusters


# --- Labels of clusters: how many members carry an epitope, and whether they are more than chance puts there

LABEL_COLUMNS = (
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
    return table[list(LABEL_COLUMNS)]


# --- Tables of clusters: members, genes and motifs, comparison of conditions


@dataclass(frozen=True)
class Clustered:
    """
    Clusters of the clonotypes of one species and chain class.

    Attributes
    ----------
    species : str
    chains : {"paired", "alpha", "beta"}
    rows : ndarray of int64, shape (n,)
        Row number of each clonotype among the run's clonotypes.
    label : ndarray of int64, shape (n,)
        Cluster number, largest cluster first; -1 for an unclustered receptor.
    neighbourhood : Neighbourhood
    centres : list of int
        Position in ``rows`` of the medoid of each cluster.
    """

    species: str
    chains: str
    rows: np.ndarray
    label: np.ndarray
    neighbourhood: Neighbourhood
    centres: list[int]

    @cached_property
    def members(self) -> list[np.ndarray]:
        """Positions in ``rows`` of the members of each cluster."""
        return clustering.members(self.label)


def member_parts(
    repertoires: Repertoires, groups: list[Clustered], cluster_ids: pa.ChunkedArray
) -> Iterator[pa.Table]:
    """
    Yield `airrvec.core.schema.CLUSTER_MEMBERS` in parts, one row per receptor of the run.

    Receptors that differ only in alleles are in one cluster and count as one neighbour.

    Parameters
    ----------
    cluster_ids : pyarrow.ChunkedArray
        Names of the clusters of all groups, in the order of `clusters_table`.
    """
    n, n_clusters = len(repertoires.receptors), 0
    cluster, compared = np.full(n, -1), np.zeros(n, bool)
    neighbours, expected = np.zeros(n, np.int32), np.zeros(n)
    for clustered in groups:
        label = clustered.label
        cluster[clustered.rows] = np.where(label >= 0, label + n_clusters, -1)
        n_clusters += label.max(initial=-1) + 1
        compared[clustered.rows] = True
        neighbours[clustered.rows] = clustered.neighbourhood.degrees
        expected[clustered.rows] = clustered.neighbourhood.expected
    first = 0
    with step("table of members"):
        for receptors in tables.read_batches(repertoires.path, tables.BATCH):
            rows = repertoires.clonotype[first : first + len(receptors)]
            missing = ~compared[rows]
            columns = {
                "chains": pa.array(repertoires.chains[rows], pa.string(), mask=missing),
                "cluster_id": cluster_ids.take(pa.array(cluster[rows], mask=cluster[rows] < 0)),
                "n_neighbours": pa.array(neighbours[rows], mask=missing),
                "n_expected": pa.array(expected[rows], mask=missing),
            }
            for name, values in columns.items():
                receptors = receptors.append_column(name, values)
            yield receptors.select(schema.CLUSTER_MEMBERS.names).cast(schema.CLUSTER_MEMBERS)
            first += len(receptors)


@step("table of clusters")
def clusters_table(
    repertoires: Repertoires, groups: list[Clustered], labels: pd.DataFrame
) -> tuple[pa.Table, pa.Table]:
    """
    Return the clusters and the residue frequencies of their junctions.

    Parameters
    ----------
    labels : DataFrame
        ``receptor`` (row number among the run's clonotypes) and ``epitope``, each pair once. Labels of
        innate-like receptors do not count (`airrvec.core.innate`).

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CLUSTERS`, largest cluster first within each species and chain class.
    pyarrow.Table
        `airrvec.core.schema.CLUSTER_MOTIFS`.
    """
    innate = repertoires.receptors["innate_like"].is_valid().to_numpy()
    labels = labels[~innate[labels["receptor"].to_numpy(int)]]
    members_rows = [clustered.rows[members] for clustered in groups for members in clustered.members]
    wanted = np.concatenate([np.empty(0, np.int64), *members_rows])
    receptors = repertoires.read_receptors(wanted)
    names = pd.Series(receptor_names(receptors).to_pylist(), wanted)
    receptors = receptors.to_pandas().set_index(wanted)
    rows, positions = [], []
    for clustered in groups:
        place = pd.Index(clustered.rows).get_indexer(pd.Index(labels["receptor"]))
        group_labels = labels.assign(receptor=place)[place >= 0]
        cluster_labels = label_clusters(clustered.label, group_labels).to_dict("records")
        abundances = _abundances(repertoires, clustered)
        for number, members in enumerate(clustered.members):
            in_cluster = receptors.loc[clustered.rows[members]]
            middle = clustered.centres[number]
            row = {
                "cluster_id": cluster_id(in_cluster["clonotype_id"].tolist()),
                "centre": names[clustered.rows[middle]],
                "species": clustered.species,
                "chains": clustered.chains,
                "n_receptors": len(members),
                **abundances[number],
                "centre_id": receptors["receptor_id"][clustered.rows[middle]],
                "centre_neighbours": int(clustered.neighbourhood.degrees[middle]),
                "centre_expected": float(clustered.neighbourhood.expected[middle]),
                **_innate(in_cluster["innate_like"]),
                **cluster_labels[number],
            }
            for locus in CHAIN_LOCI[clustered.chains]:
                frequencies = residue_frequencies(in_cluster[schema.field(locus, "junction_aa")].tolist())
                row |= common_genes(in_cluster, locus) | {
                    f"{locus.lower()}_consensus": consensus(frequencies)
                }
                positions.append(frequencies.assign(cluster_id=row["cluster_id"], locus=locus))
            rows.append(row)
    clusters = pd.DataFrame(rows, columns=schema.CLUSTERS.names)
    clusters[schema.GENERATION.names[1:]] = _generation(clusters, receptors)
    motif = pd.concat(positions or [pd.DataFrame(columns=schema.CLUSTER_MOTIFS.names)])
    return tuple(
        pa.Table.from_pandas(frame[table_schema.names], table_schema, preserve_index=False)
        for frame, table_schema in ((clusters, schema.CLUSTERS), (motif, schema.CLUSTER_MOTIFS))
    )


def _abundances(repertoires: Repertoires, clustered: Clustered) -> list[dict]:
    """Return the cells, their unit, the samples and the donors of each cluster."""
    counts = repertoires.counts
    place = pd.Index(clustered.rows).get_indexer(pd.Index(counts["receptor"]))
    label = np.where(place < 0, -1, clustered.label[place])
    totals = repertoires.totals(counts.assign(label=label)[label >= 0], "label")
    none = {"n_cells": 0, "count_unit": None, "n_samples": 0, "n_donors": 0}  # of labelled receptors alone
    rows = totals.astype(object).where(totals.notna(), None).to_dict("index")
    return [rows.get(number, none) for number in range(clustered.label.max(initial=-1) + 1)]


def _innate(kinds: pd.Series) -> dict:
    """Return the most frequent kind of innate-like receptor, and the share of members that are of any."""
    top, _ = commonest(kinds.dropna())
    return {"innate_like": top, "innate_share": float(kinds.notna().mean())}


def _generation(clusters: pd.DataFrame, receptors: pd.DataFrame) -> pd.DataFrame:
    """Return generation probabilities of the centres' chains, if OLGA has a model of the species."""
    columns = schema.GENERATION.names[1:]
    probabilities = pd.DataFrame(np.nan, index=clusters.index, columns=columns)
    centres = receptors.set_index("receptor_id").reindex(clusters["centre_id"])
    for locus, column in zip(schema.LOCI, columns, strict=True):
        fields = [schema.field(locus, name) for name in ("junction_aa", "v_call", "j_call")]
        chains = centres[fields].reset_index(drop=True)
        known = chains.notna().all(axis=1) & clusters["chains"].isin(
            [chains_word for chains_word in CHAIN_CLASSES if locus in CHAIN_LOCI[chains_word]]
        )
        for species in generation.SPECIES:
            wanted = known & (clusters["species"] == species)
            if wanted.any():
                rows = list(chains[wanted].itertuples(index=False, name=None))
                probabilities.loc[wanted, column] = pd.Series(
                    generation.probabilities(rows, locus, species), index=chains.index[wanted], dtype=float
                )
    return probabilities
