"""Clusters by name in the tables of the report: a number, the central receptor, the consensus."""

from airrvec.core import innate, schema
from airrvec.core.chains import CHAIN_LOCI, GREEK
from airrvec.report.page import escaped
from airrvec.report.receptor_cells import text_header

import pandas as pd

MAX_FDR = 0.05  # of the enrichment of an epitope that is shown
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


def cluster_numbers(clusters: pd.DataFrame) -> dict[str, str]:
    """Return a number for each cluster, the largest first, by its cluster_id."""
    order = clusters.sort_values("n_receptors", ascending=False, kind="stable")["cluster_id"]
    digits = len(str(len(order)))
    return {name: f"{number:0{digits}d}" for number, name in enumerate(order, start=1)}


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
    if cluster["epitope_fdr"] <= MAX_FDR:
        share = f"{cluster['n_with_epitope']:,} of {cluster['n_receptors']:,} members"
        notes.append(f"{escaped(cluster['epitope'])}: {share}")
    return f"{words} ({'; '.join(notes)})" if notes else words
