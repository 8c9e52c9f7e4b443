"""Clusters in the MultiQC report: number and sizes, largest clusters with logos, and conditions."""

import json
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from airrvec.core import tables
from airrvec.core.chains import CHAIN_LOCI
from airrvec.core.plural import counted
from airrvec.figures.style import COLOURS
from airrvec.report.page import COUNT, escaped, group_titles, not_compared_text, section, with_group_titles

N_TOP = 50  # rows in the tables of clusters and of their comparisons

_SIZES = {"2": (2, 2), "3 to 5": (3, 5), "6 to 10": (6, 10), "11 to 50": (11, 50), "above 50": (51, 10**9)}
_MOTIF = ("v_call", "consensus")


@dataclass(frozen=True)
class Clusters:
    """Results of ``cluster_receptors.py``: counts, tables as data frames, and the logos as PNG."""

    counts: dict
    clusters: pd.DataFrame
    conditions: pd.DataFrame
    logos: bytes | None
    titles: dict[tuple[str, str], str]


def read_clusters(folder: Path | None) -> Clusters | None:
    """Return the results; None if the folder has none."""
    if folder is None or not (folder / "clusters.qc.json").exists():
        return None
    logos = folder / "logos.png"
    counts = json.loads((folder / "clusters.qc.json").read_text())
    titles = group_titles(counts["groups"])
    return Clusters(
        counts,
        with_group_titles(tables.read(folder / "clusters.parquet").to_pandas(), titles),
        tables.read(folder / "conditions.parquet").to_pandas(),
        logos.read_bytes() if logos.exists() else None,
        titles,
    )


def cluster_sections(found: Clusters) -> list[dict]:
    """Return the sections of the report."""
    sections = [_overview(found)]
    if len(found.clusters):
        sections += [_sizes(found.clusters), _largest(found.clusters)]
    if found.logos:
        sections.append(_logos(found))
    if found.counts["condition"]:
        sections.append(_conditions(found))
    return sections


def cluster_lines(found: Clusters) -> list[str]:
    """Return a line on the clusters of each class of chains, for the terminal."""
    return [
        f"{counted(group['clusters'], 'cluster')} of {found.titles[group['species'], group['chains']]}"
        f" {'holds' if group['clusters'] == 1 else 'hold'} {group['clustered']:,} of"
        f" {counted(group['receptors'], 'receptor')}"
        for group in found.counts["groups"]
    ] or ["No clusters: no receptor has a vector"]


def cluster_answer(found: Clusters) -> str:
    """Return the number of clusters and the largest one, in a sentence or two."""
    words = "; ".join(cluster_lines(found)) + "."
    if len(found.clusters):
        largest = found.clusters.sort_values("n_receptors", ascending=False, kind="stable").iloc[0]
        words += f" The largest cluster has {largest['n_receptors']:,} receptors: {_motif(largest)}."
    return words


def _motif(cluster) -> str:
    """Return V genes and consensus junctions of a cluster, and its epitope if it has labelled members."""
    parts = [cluster[f"{locus.lower()}_{name}"] for locus in CHAIN_LOCI[cluster["chains"]] for name in _MOTIF]
    words = " ".join(part for part in parts if part)
    if not cluster["epitope"]:
        return words
    return (
        f"{words} ({cluster['n_labelled']:,} labelled, most frequent epitope {escaped(cluster['epitope'])})"
    )


def _overview(found: Clusters) -> dict:
    counts = found.counts
    data = {
        found.titles[group["species"], group["chains"]]: {
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
        return section(
            "airrvec_clusters_overview",
            "Number of clusters",
            words,
            "html",
            "<p>No receptor has a vector.</p>",
        )
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


def _largest(clusters: pd.DataFrame) -> dict:
    shown = clusters.sort_values("n_receptors", ascending=False, kind="stable").head(N_TOP)
    data = {
        row.cluster_id: {
            "receptors": row.n_receptors,
            "epitope": escaped(row.epitope) if row.epitope else "",
            "labelled": row.n_labelled,
            "purity": 100 * row.purity if row.n_labelled else None,
            "samples": row.n_samples,
            "cells": row.n_cells,
            **{name: getattr(row, name) or "" for name in ("tra_v_call", "tra_consensus")},
            **{name: getattr(row, name) or "" for name in ("trb_v_call", "trb_consensus")},
            "expected": row.centre_expected,
            "chains": row.group,
        }
        for row in shown.itertuples()
    }
    headers = {
        "receptors": {"title": "Receptors", **COUNT},
        "epitope": {"title": "Epitope", "description": "Most frequent epitope of the labelled members"},
        "labelled": {"title": "Labelled", **COUNT, "description": "Members with a known epitope"},
        "purity": {
            "title": "Purity",
            "suffix": " %",
            "min": 0,
            "max": 100,
            "scale": "Greens",
            "description": "Share of labelled members with this epitope",
        },
        "samples": {"title": "Samples", **COUNT},
        "cells": {"title": "Cells", **COUNT},
        "tra_v_call": {"title": "V α", "description": "Most frequent gene; its share is in clusters.tsv"},
        "tra_consensus": {"title": "Junction α", "description": "Most frequent residue at each position"},
        "trb_v_call": {"title": "V β"},
        "trb_consensus": {"title": "Junction β"},
        "expected": {
            "title": "Expected by chance",
            "format": "{:,.2f}",
            "scale": False,
            "description": "Number of neighbours of the cluster centre expected by chance",
        },
        "chains": {"title": "Chains"},
    }
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


def _logos(found: Clusters) -> dict:
    encoded = b64encode(found.logos).decode()
    return section(
        "airrvec_clusters_logos",
        "Junctions of the largest clusters",
        "Letter height shows conservation; the maximum is 4.3 bits. Gaps are in the middle of the junctions."
        " Every junction starts with C and ends with F or W. Figure: <code>clusters/logos.svg</code>.",
        "html",
        '<div class="airrvec-scroll"><img class="airrvec-picture airrvec-logos" alt="Logos of junctions"'
        f' src="data:image/png;base64,{encoded}" /></div>',
    )


def _conditions(found: Clusters) -> dict:
    column = escaped(found.counts["condition"])
    words = (
        f"Differences between samples of different {column}: the samples that carry a cluster, and the share"
        " of cells in it. Samples are the units of the tests."
    )
    if not len(found.conditions):
        return section(
            "airrvec_clusters_conditions",
            f"Clusters by {column}",
            words,
            "html",
            "<p>No test was possible: two values need at least two samples each, and a cluster in at least"
            " two of these samples.</p>",
        )
    shown = found.conditions.sort_values(["fisher_p", "rank_p"], kind="stable").head(N_TOP)
    motif = {row["cluster_id"]: _motif(row) for _, row in found.clusters.iterrows()}
    data = {
        f"{row.cluster_id}, {escaped(row.value_1)} and {escaped(row.value_2)}": {
            "carrying_1": f"{row.n_carrying_1} of {row.n_samples_1}",
            "carrying_2": f"{row.n_carrying_2} of {row.n_samples_2}",
            "fisher_fdr": row.fisher_fdr,
            "rank_fdr": row.rank_fdr,
            "motif": motif[row.cluster_id],
            "share_1": 100 * row.share_1,
            "share_2": 100 * row.share_2,
        }
        for row in shown.itertuples()
    }
    share, rate = {"suffix": " %", "format": "{:,.3f}", "scale": False}, {"format": "{:,.3g}", "scale": False}
    headers = {
        "carrying_1": {"title": "First: samples"},
        "carrying_2": {"title": "Second: samples"},
        "fisher_fdr": {
            "title": "FDR, Fisher",
            **rate,
            "description": "Fisher's exact test on the samples that carry the cluster",
        },
        "rank_fdr": {
            "title": "FDR, ranks",
            **rate,
            "description": "Mann–Whitney test on the share of cells in the cluster",
        },
        "motif": {"title": "Genes and junctions"},
        "share_1": {"title": "First: share of cells", **share},
        "share_2": {"title": "Second: share of cells", **share},
    }
    return section(
        "airrvec_clusters_conditions",
        f"Clusters by {column}",
        f"{words} The table has {len(shown)} of {counted(len(found.conditions), 'comparison')}, those with"
        " the lowest p; all are in <code>clusters/conditions.tsv</code>. With few samples, p cannot be small:"
        " the minimum is 0.1 for three samples against three.",
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Cluster", "sort_rows": False},
    )
