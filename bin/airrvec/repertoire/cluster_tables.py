"""What is known of clusters: their tables."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from airrvec.core import schema
from airrvec.core.chains import CHAIN_CLASSES, LOCI_OF
from airrvec.repertoire import motifs
from airrvec.repertoire.clustering import Neighbourhood, centre, cluster_id
from airrvec.repertoire.enrichment import compare
from airrvec.repertoire.repertoires import Repertoires
from airrvec.synthetic import generation


@dataclass(frozen=True)
class Clustered:
    """
    The clusters of the clonotypes of a species that have some chains.

    Attributes
    ----------
    species : str
    chains : {"paired", "alpha", "beta"}
    rows : ndarray of int64, shape (n,)
        Of the run's clonotypes.
    label : ndarray of int64, shape (n,)
        Number of the cluster, the largest first; -1 of a receptor that is in none.
    neighbourhood : Neighbourhood
    """

    species: str
    chains: str
    rows: np.ndarray
    label: np.ndarray
    neighbourhood: Neighbourhood

    @property
    def members(self) -> list[np.ndarray]:
        """Places of each cluster's receptors in ``rows``."""
        order = np.argsort(self.label, kind="stable")
        order = order[self.label[order] >= 0]
        return np.split(order, np.flatnonzero(np.diff(self.label[order])) + 1) if len(order) else []


def members_table(repertoires: Repertoires, found: list[Clustered]) -> pa.Table:
    """
    Each receptor of the run, `airrvec.core.schema.CLUSTER_MEMBERS`; those that differ in alleles alone are in
    one cluster, and count as one neighbour.
    """
    n = len(repertoires.receptors)
    names = np.full(n, None, object)
    neighbours = np.full(n, pd.NA, object)
    expected = np.full(n, np.nan)
    ids = _ids(repertoires)
    for clustered in found:
        neighbours[clustered.rows] = clustered.neighbourhood.degrees
        expected[clustered.rows] = clustered.neighbourhood.expected
        for members in clustered.members:
            rows = clustered.rows[members]
            names[rows] = cluster_id(ids[rows].tolist())
    chains = np.where(pd.isna(neighbours), None, repertoires.chains)
    of_clonotypes = pd.DataFrame(
        {
            "species": repertoires.receptors["species"].to_numpy(),
            "chains": chains,
            "cluster_id": names,
            "n_neighbours": pd.array(neighbours, "Int32"),
            "n_expected": expected,
        }
    )
    frame = of_clonotypes.iloc[repertoires.clonotype].assign(receptor_id=repertoires.receptor_ids.to_numpy())
    return pa.Table.from_pandas(frame, schema.CLUSTER_MEMBERS, preserve_index=False)


def clusters_table(
    repertoires: Repertoires, found: list[Clustered], labels: pd.DataFrame
) -> tuple[pa.Table, pa.Table]:
    """
    Clusters and the frequencies of residues in their junctions.

    Parameters
    ----------
    labels : DataFrame
        ``receptor`` (row of the run's clonotypes) and ``epitope``, each pair once.

    Returns
    -------
    pyarrow.Table
        `airrvec.core.schema.CLUSTERS`, the largest first of each species and class of chains.
    pyarrow.Table
        `airrvec.core.schema.CLUSTER_MOTIFS`.
    """
    receptors = repertoires.receptors.to_pandas()
    rows, positions = [], []
    for clustered in found:
        for members in clustered.members:
            of_cluster = receptors.iloc[clustered.rows[members]]
            middle = members[centre(repertoires.vectors[clustered.rows[members]])]
            row = {
                "cluster_id": cluster_id(of_cluster["clonotype_id"].tolist()),
                "species": clustered.species,
                "chains": clustered.chains,
                "n_receptors": len(members),
                **_carried(repertoires.counts, of_cluster.index),
                "centre_id": receptors["receptor_id"][clustered.rows[middle]],
                "centre_neighbours": int(clustered.neighbourhood.degrees[middle]),
                "centre_expected": float(clustered.neighbourhood.expected[middle]),
                **_epitope(labels, of_cluster.index),
            }
            for locus in LOCI_OF[clustered.chains]:
                frequencies = motifs.frequencies(of_cluster[schema.field(locus, "junction_aa")].tolist())
                row |= _genes(of_cluster, locus) | {
                    f"{locus.lower()}_consensus": motifs.consensus(frequencies)
                }
                positions.append(frequencies.assign(cluster_id=row["cluster_id"], locus=locus))
            rows.append(row)
    clusters = pd.DataFrame(rows, columns=schema.CLUSTERS.names)
    clusters[schema.GENERATION.names[1:]] = _generation(clusters, receptors)
    motif = pd.concat(positions or [pd.DataFrame(columns=schema.CLUSTER_MOTIFS.names)])
    return tuple(
        pa.Table.from_pandas(frame[of_name.names], of_name, preserve_index=False)
        for frame, of_name in ((clusters, schema.CLUSTERS), (motif, schema.CLUSTER_MOTIFS))
    )


def conditions_table(repertoires: Repertoires, found: list[Clustered], column: str | None) -> pa.Table:
    """
    Clusters between values of the samplesheet's column, `airrvec.core.schema.CLUSTER_CONDITIONS`; without
    one, or without two samples of each of two values, no rows. False discoveries are counted by species and
    class of chains.
    """
    conditions = repertoires.conditions(column)
    ids = _ids(repertoires)
    parts = [pd.DataFrame(columns=schema.CLUSTER_CONDITIONS.names)]
    for clustered in found:
        members = clustered.members
        table = compare(_shares(repertoires, clustered), conditions)
        names = [cluster_id(ids[clustered.rows[members[number]]].tolist()) for number in table["cluster"]]
        group = {"species": clustered.species, "chains": clustered.chains}
        parts.append(table.assign(cluster_id=names, condition=column, **group))
    frame = pd.concat([part for part in parts if len(part)] or parts)[schema.CLUSTER_CONDITIONS.names]
    return pa.Table.from_pandas(frame, schema.CLUSTER_CONDITIONS, preserve_index=False)


def _ids(repertoires: Repertoires) -> np.ndarray:
    return repertoires.receptors["clonotype_id"].to_numpy()


def _shares(repertoires: Repertoires, clustered: Clustered) -> np.ndarray:
    """Share of a sample's cells with these chains that are in a cluster, shape (n_samples, n_clusters)."""
    of_row = pd.Series(clustered.label, index=clustered.rows)
    counts = repertoires.counts[repertoires.counts["receptor"].isin(of_row.index)]
    sample = repertoires.samples.index.get_indexer(counts["sample_id"])
    label = of_row.loc[counts["receptor"]].to_numpy()
    totals = np.bincount(sample, counts["n"], len(repertoires.samples))
    inside = label >= 0
    cells = sparse.coo_array(
        (counts["n"].to_numpy(float)[inside], (sample[inside], label[inside])),
        (len(repertoires.samples), clustered.label.max(initial=-1) + 1),
    ).toarray()
    return cells / np.maximum(totals, 1)[:, None]


def _carried(counts: pd.DataFrame, rows: pd.Index) -> dict:
    of_cluster = counts[counts["receptor"].isin(rows)]
    return {"n_cells": int(of_cluster["n"].sum()), "n_samples": of_cluster["sample_id"].nunique()}


def _epitope(labels: pd.DataFrame, rows: pd.Index) -> dict:
    """The commonest epitope of the labelled members, and which share of these carries it."""
    of_cluster = labels[labels["receptor"].isin(rows)]
    n_labelled = of_cluster["receptor"].nunique()
    if not n_labelled:
        return {"n_labelled": 0, "epitope": None, "n_epitopes": 0, "purity": None}
    numbers = of_cluster["epitope"].value_counts()
    return {
        "n_labelled": n_labelled,
        "epitope": min(numbers.index[numbers == numbers.iloc[0]]),
        "n_epitopes": len(numbers),
        "purity": numbers.iloc[0] / n_labelled,
    }


def _genes(of_cluster: pd.DataFrame, locus: str) -> dict:
    """The commonest V and J gene, alleles taken together, and its share of the members."""
    row = {}
    for name in ("v_call", "j_call"):
        column = schema.field(locus, name)
        numbers = of_cluster[column].str.split("*").str[0].value_counts()
        top = min(numbers.index[numbers == numbers.iloc[0]]) if len(numbers) else None
        row[column] = top
        row[column.replace("_call", "_share")] = numbers[top] / len(of_cluster) if len(numbers) else None
    return row


def _generation(clusters: pd.DataFrame, receptors: pd.DataFrame) -> pd.DataFrame:
    """Generation probabilities of the centres' chains, where OLGA has a model of the species."""
    columns = schema.GENERATION.names[1:]
    found = pd.DataFrame(np.nan, index=clusters.index, columns=columns)
    of_centres = receptors.set_index("receptor_id").reindex(clusters["centre_id"])
    for locus, column in zip(schema.LOCI, columns, strict=True):
        fields = [schema.field(locus, name) for name in ("junction_aa", "v_call", "j_call")]
        chains = of_centres[fields].reset_index(drop=True)
        known = chains.notna().all(axis=1) & clusters["chains"].isin(
            [chains_word for chains_word in CHAIN_CLASSES if locus in LOCI_OF[chains_word]]
        )
        for species in generation.SPECIES:
            wanted = known & (clusters["species"] == species)
            if wanted.any():
                rows = list(chains[wanted].itertuples(index=False, name=None))
                found.loc[wanted, column] = pd.Series(
                    generation.probabilities(rows, locus, species), index=chains.index[wanted], dtype=float
                )
    return found
