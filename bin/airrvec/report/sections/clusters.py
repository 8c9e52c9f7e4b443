"""Clusters in the MultiQC report: number and sizes, largest clusters with logos."""

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import innate, schema, tables
from airrvec.core.chains import CHAIN_LOCI, GREEK
from airrvec.core.identity import cluster_numbers
from airrvec.core.terminal import counted
from airrvec.figures.palette import COLOURS
from airrvec.report.page import (
    COUNT,
    clones_link,
    escaped,
    group_titles,
    meaning,
    not_compared_text,
    nothing,
    section,
    units_title,
    with_group_titles,
    with_units,
)
from airrvec.report.receptor_cells import named_chain_cells, text_cell, text_header

import pandas as pd

CENTRE_HEADERS = {
    locus.lower(): text_header(
        f"Central receptor: {GREEK[locus]}",
        "Member nearest to the mean vector of the cluster: V gene, CDR3, J gene",
    )
    for locus in schema.LOCI
}
CONSENSUS_HEADERS = {
    f"consensus_{locus.lower()}": text_header(
        f"Consensus: {GREEK[locus]}",
        "Most frequent V gene, residue at each position of the CDR3, and J gene; shares are in clusters.tsv",
    )
    for locus in schema.LOCI
}


def consensus_cells(cluster) -> dict[str, str]:
    """Return the cells with the most frequent genes and residues of each chain of a cluster."""
    return {
        f"consensus_{locus.lower()}": " ".join(
            getattr(cluster, f"{locus.lower()}_{name}") or "?" for name in ("v_call", "consensus", "j_call")
        )
        if locus in CHAIN_LOCI[cluster.chains]
        else ""
        for locus in schema.LOCI
    }


def motif(cluster) -> str:
    """Return V genes and consensus junctions of a cluster, its enriched epitope, and its innate-like kind."""
    parts = [
        cluster[f"{locus.lower()}_{name}"]
        for locus in CHAIN_LOCI[cluster["chains"]]
        for name in ("v_call", "consensus")
    ]
    words = " ".join(part for part in parts if part)
    notes = []
    if cluster["innate_share"] >= innate.MAJORITY:
        notes.append(f"{100 * cluster['innate_share']:.0f} % {cluster['innate_like']}")
    if cluster["epitope_fdr"] <= schema.ENRICHED_FDR:
        share = f"{cluster['n_with_epitope']:,} of {cluster['n_receptors']:,} members"
        notes.append(f"{escaped(cluster['epitope'])}: {share}")
    return f"{words} ({'; '.join(notes)})" if notes else words


# --- Clusters in the MultiQC report: number and sizes, largest clusters with logos

N_TOP = 50  # rows in the table
N_EPITOPES = 3  # of the references in a cluster

_SIZES = {"2": (2, 2), "3 to 5": (3, 5), "6 to 10": (6, 10), "11 to 50": (11, 50), "above 50": (51, 10**9)}


@dataclass(frozen=True)
class Clusters:
    """Results of ``cluster_receptors.py``: counts, tables as data frames, and the logos as PNG."""

    counts: dict
    clusters: pd.DataFrame
    logos: bytes | None
    titles: dict[tuple[str, str], str]
    references: pd.DataFrame | None = None  # `airrvec.core.schema.CLUSTER_REFERENCES`; None without calls


def read_clusters(folder: Path | None) -> Clusters | None:
    """Return the results; None if the folder has none."""
    if folder is None or not (folder / "clusters.qc.json").exists():
        return None
    logos, near = folder / "logos.png", folder / "references.parquet"
    counts = json.loads((folder / "clusters.qc.json").read_text())
    titles = group_titles(counts["groups"])
    return Clusters(
        counts,
        with_group_titles(tables.read(folder / "clusters.parquet").to_pandas(), titles),
        logos.read_bytes() if logos.exists() else None,
        titles,
        tables.read(near).to_pandas() if near.exists() else None,
    )


def cluster_sections(results: Clusters) -> list[dict]:
    """Return the sections of the report."""
    sections = [_overview(results)]
    if len(results.clusters):
        sections += [_sizes(results.clusters), _largest(results)]
    if results.logos:
        sections.append(_logos(results.logos))
    return sections


def cluster_lines(results: Clusters) -> list[str]:
    """Return a line on the clusters of each class of chains, for the terminal."""
    return [
        f"{counted(group['clusters'], 'cluster')} of {results.titles[group['species'], group['chains']]}"
        f" {'holds' if group['clusters'] == 1 else 'hold'} {group['clustered']:,} of"
        f" {counted(group['receptors'], 'receptor')}"
        + (
            "; at radius 0, neighbours have equal vectors"
            if group["radius"] == 0 and group["clusters"]
            else ""
        )
        for group in results.counts["groups"]
    ] or ["No clusters: no receptor has a vector"]


def cluster_answer(results: Clusters) -> str:
    """Return the number of clusters and the largest one, in a sentence or two."""
    words = "; ".join(cluster_lines(results)) + "."
    if len(results.clusters):
        largest = results.clusters.sort_values("n_receptors", ascending=False, kind="stable").iloc[0]
        words += f" The largest cluster has {largest['n_receptors']:,} receptors: {motif(largest)}."
    if results.references is not None:
        n = results.references["cluster_id"].nunique()
        words += f" References lie in {counted(n, 'cluster')}."
    return words


def _overview(results: Clusters) -> dict:
    counts = results.counts
    data = {
        results.titles[group["species"], group["chains"]]: {
            **{name: group[name] for name in ("receptors", "clusters", "clustered", "radius", "neighbours")},
            "share": 100 * group["clustered"] / group["receptors"],
        }
        for group in counts["groups"]
    }
    words = (
        "Two receptors are neighbours if the distance of their vectors is at most the radius. The radius is"
        f" chosen so that a receptor has on average {counts['chance']:g} neighbours among the same number of"
        f" background receptors ({escaped(counts['background'])}): the number expected by chance."
        " More than that is not due to chance. A common antigen is one possible cause; selection that the"
        " background receptors did not undergo is another."
    )
    if any(group["radius"] == 0 for group in counts["groups"]):
        words += (
            " At a radius of 0, only receptors with equal vectors are neighbours: among so many receptors,"
            " any greater distance is expected by chance. A larger <code>--cluster_chance</code> allows it."
        )
    if counts["not_compared"]:
        n = counted(counts["not_compared"], "receptor was", "receptors were")
        words += f" {n} not compared: without vector or of another species."
    words += not_compared_text(counts)
    headers = {
        "receptors": {"title": "Receptors", **COUNT},
        "clusters": {"title": "Clusters", **COUNT},
        "clustered": {"title": "Receptors in clusters", **COUNT},
        "share": {"title": "Share", "suffix": " %", "min": 0, "max": 100, "scale": "Blues"},
        "radius": {"title": "Radius", "format": "{:,.3f}", "scale": False},
        "neighbours": {
            "title": "Neighbours",
            "format": "{:,.2f}",
            "scale": False,
            "description": f"Mean per receptor; expected by chance: {counts['chance']:g}",
        },
    }
    if not data:
        return nothing("airrvec_clusters_overview", "Number of clusters", "No receptor has a vector.")
    return section(
        "airrvec_clusters_overview",
        "Number of clusters",
        words,
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Chains"},
    )


def _sizes(clusters: pd.DataFrame) -> dict:
    data = {
        title: {words: int(rows["n_receptors"].between(*limits).sum()) for words, limits in _SIZES.items()}
        for title, rows in clusters.groupby("group", sort=False)
    }
    return section(
        "airrvec_clusters_sizes",
        "Cluster sizes",
        "Number of clusters by number of receptors in the cluster.",
        "bargraph",
        data,
        categories={
            words: {"name": words, "color": colour} for words, colour in zip(_SIZES, COLOURS, strict=False)
        },
        pconfig={"ylab": "Clusters"},
    )


def references_words(references: pd.DataFrame, cluster_id: str) -> str:
    """Return the references in a cluster by epitope, the most frequent first, as text: ``A 12; B 1``."""
    inside = references.loc[references["cluster_id"] == cluster_id, "epitope"].dropna()
    counts = inside.str.split(";").explode().value_counts(sort=False)
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    more = f"; {counted(len(order) - N_EPITOPES, 'other epitope')}" if len(order) > N_EPITOPES else ""
    return "; ".join(f"{epitope} {n:,}" for epitope, n in order[:N_EPITOPES]) + more


def _largest(results: Clusters) -> dict:
    clusters = results.clusters
    shown = clusters.sort_values("n_receptors", ascending=False, kind="stable").head(N_TOP)
    numbers = cluster_numbers(clusters)
    data = {
        numbers[row.cluster_id]: {
            "clones": clones_link("clones", cluster=numbers[row.cluster_id]),
            "receptors": row.n_receptors,
            "innate": f"{row.innate_like} {100 * row.innate_share:.0f} %" if row.innate_like else "",
            "labelled": 100 * row.n_labelled / row.n_receptors,
            "epitope": escaped(row.epitope) if row.epitope_fdr <= schema.ENRICHED_FDR else "",
            **_antigen(row),
            "carrying": 100 * row.n_with_epitope / row.n_receptors
            if row.epitope_fdr <= schema.ENRICHED_FDR
            else None,
            "epitope_fdr": row.epitope_fdr,
            **(
                {}
                if results.references is None
                else {"references": text_cell(references_words(results.references, row.cluster_id))}
            ),
            "samples": row.n_samples,
            "cells": row.n_cells if pd.notna(row.n_cells) else None,
            **named_chain_cells(row.centre),
            **consensus_cells(row),
            "expected": row.centre_expected,
            "chains": row.group,
            "id": text_cell(row.cluster_id),
            "centre_id": text_cell(row.centre_id),
        }
        for row in tables.named_rows(shown)
    }
    headers = _largest_headers(units_title(shown["count_unit"].dropna()))
    if results.references is None:
        del headers["references"]
    data, headers = with_units(data, headers, shown["count_unit"])
    return section(
        "airrvec_clusters_largest",
        "Largest clusters",
        f"{len(shown)} of {counted(len(clusters), 'cluster')}. All are in <code>clusters/clusters.tsv</code>,"
        " their receptors in <code>clusters/members.tsv</code>.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Cluster", "sort_rows": False},
    )


def _largest_headers(unit: str) -> dict[str, dict]:
    share = {"suffix": " %", "min": 0, "max": 100, "format": "{:,.0f}", "scale": "Greens"}
    return {
        **CENTRE_HEADERS,
        "clones": text_header("In the table of clones"),
        "receptors": {"title": "Receptors", **COUNT, **meaning("clusters", "n_receptors")},
        "innate": {"title": "Innate-like", **meaning("clusters", "innate_like")},
        "labelled": {"title": "Labelled", **share, "description": "Share of members with a known epitope"},
        "epitope": {
            "title": "Enriched epitope",
            "description": "More frequent here than among all labelled receptors of the run, at a false"
            f" discovery rate of {100 * schema.ENRICHED_FDR:g} %. Empty: no epitope is.",
        },
        "antigen": text_header("Antigen", "Protein or gene of the epitope, and its organism"),
        "mhc": text_header("MHC", **meaning("clusters", "mhc")),
        "carrying": {"title": "Members with it", **share},
        "epitope_fdr": {
            "title": "FDR",
            "format": "{:,.2g}",
            "scale": False,
            **meaning("clusters", "epitope_fdr"),
        },
        "references": text_header(
            "References in it",
            "Receptors of the reference within the radius of a member, by epitope; all are in"
            " clusters/references.tsv",
        ),
        "samples": {"title": "Samples", **COUNT, **meaning("clusters", "n_samples")},
        "cells": {
            "title": unit,
            **COUNT,
            **meaning("clusters", "n_cells"),
        },
        **CONSENSUS_HEADERS,
        "expected": {
            "title": "Expected by chance",
            "format": "{:,.2f}",
            "scale": False,
            **meaning("clusters", "centre_expected"),
        },
        "chains": text_header("Chains", **meaning("clusters", "chains")),
        "id": text_header("Cluster id", **meaning("clusters", "cluster_id")),
        "centre_id": text_header("Id of the central receptor", **meaning("clusters", "centre_id")),
    }


def _antigen(cluster) -> dict[str, str]:
    """Return the cells of the antigen of an enriched epitope."""
    shown = cluster.epitope_fdr <= schema.ENRICHED_FDR
    antigen = ", ".join(filter(None, (cluster.antigen_gene, cluster.antigen_species)))
    return {"antigen": text_cell(antigen if shown else ""), "mhc": text_cell(cluster.mhc if shown else "")}


def _logos(logos: bytes) -> dict:
    encoded = b64encode(logos).decode()
    return section(
        "airrvec_clusters_logos",
        "Junctions of the largest clusters",
        "Letter height shows conservation, in bits: at most 4.3, where all members share a residue. Gaps"
        " are in the middle of the junctions."
        " Every junction starts with C and ends with F or W. Figure: <code>clusters/logos.svg</code>.",
        "html",
        '<div class="airrvec-scroll"><img class="airrvec-picture airrvec-logos" alt="Logos of junctions"'
        f' src="data:image/png;base64,{encoded}" /></div>',
    )
