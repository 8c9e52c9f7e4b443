"""Clusters in words: genes and junctions, enriched epitope, innate-like members."""

from airrvec.core.chains import CHAIN_LOCI
from airrvec.report.page import escaped

MAX_FDR = 0.05  # of the enrichment of an epitope that is shown
INNATE_SHARE = 0.5  # of the members, from which a note is worth it
_MOTIF = ("v_call", "consensus")


def motif(cluster) -> str:
    """Return V genes and consensus junctions of a cluster, its enriched epitope, and its innate-like kind."""
    parts = [cluster[f"{locus.lower()}_{name}"] for locus in CHAIN_LOCI[cluster["chains"]] for name in _MOTIF]
    words = " ".join(part for part in parts if part)
    notes = []
    if cluster["innate_share"] >= INNATE_SHARE:
        notes.append(f"{100 * cluster['innate_share']:.0f} % {cluster['innate_like']}")
    if cluster["epitope_fdr"] <= MAX_FDR:
        share = f"{cluster['n_with_epitope']:,} of {cluster['n_receptors']:,} members"
        notes.append(f"{escaped(cluster['epitope'])}: {share}")
    return f"{words} ({'; '.join(notes)})" if notes else words
