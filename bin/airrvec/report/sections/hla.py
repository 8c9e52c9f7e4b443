"""Clusters beside the donors' HLA in the MultiQC report."""

import json
from dataclasses import dataclass
from pathlib import Path

from airrvec.core import schema, tables
from airrvec.core.identity import cluster_numbers
from airrvec.core.terminal import counted
from airrvec.report.page import NUMBER, escaped, first_names, meaning, section
from airrvec.report.receptor_cells import named_chain_cells, text_cell, text_header
from airrvec.report.sections.clusters import CENTRE_HEADERS
from airrvec.stats.designs import SIGNIFICANT

import numpy as np
import pandas as pd

N_TOP = 50  # rows in the table


@dataclass(frozen=True)
class Associations:
    """Results of ``associate_hla.py``: counts, its table, and the clusters."""

    counts: dict
    table: pd.DataFrame
    clusters: pd.DataFrame

    @property
    def n_significant(self) -> int:
        return int((self.table["fdr"] <= SIGNIFICANT).sum())


def read_associations(folder: Path | None) -> Associations | None:
    """Return the results; None if the folder has none."""
    if folder is None or not (folder / "hla.qc.json").exists():
        return None
    counts = json.loads((folder / "hla.qc.json").read_text())
    table, clusters = (tables.read(folder / f"{name}.parquet").to_pandas() for name in ("hla", "clusters"))
    return Associations(counts, table, clusters)


def limit_sentence(counts: dict) -> str:
    """Return why nothing can be significant, with a blank at the end; an empty text if something can."""
    donors = counted(counts["donors"], "donor")
    if counts["least_p"] is None:
        return (
            f"No cluster could be compared with an allele: this needs {counts['least']} donors with each, and"
            f" others without; {donors} with HLA can be compared. "
        )
    if counts["least_p"] > SIGNIFICANT:
        return (
            f"Nothing can be significant: the smallest p that {donors} with HLA can give is"
            f" {counts['least_p']:.2g}. "
        )
    return ""


def association_lines(results: Associations) -> list[str]:
    """Return what the tests say, for the terminal."""
    tested = counted(
        results.counts["n_tested"], "pair of a cluster and an allele", "pairs of a cluster and an allele"
    )
    words = f"{results.n_significant:,} of {tested} significant at a false discovery rate of 5 %"
    return [f"HLA: {limit_sentence(results.counts)}{words}"]


def association_method(results: Associations) -> str:
    """Return how clusters were compared with HLA, for the methods."""
    within = results.counts["within"]
    return (
        "Clusters were compared with the donors' HLA by one-sided exact tests of Cochran, Mantel and Haenszel"
        f"{f', within values of {escaped(within)},' if within else ''} with donors as units, and corrected by"
        " a false discovery rate for discrete tests (Heyse)."
    )


def association_sections(results: Associations) -> list[dict]:
    """Return the section of the report."""
    counts = results.counts
    tested = counted(counts["n_tested"], "pair", "pairs")
    words = (
        f"{limit_sentence(counts)}{results.n_significant:,} of {tested} of a cluster and an allele are"
        f" significant at a false discovery rate of {100 * SIGNIFICANT:g} %, among"
        f" {counted(counts['donors'], 'donor')} with HLA and {counted(counts['alleles'], 'allele')}."
    )
    if counts["within"]:
        words += f" Donors are compared within values of <code>{escaped(counts['within'])}</code>."
    reasons: dict[str, list[str]] = {}
    for donor, reason in counts["left_out"].items():
        reasons.setdefault(reason, []).append(donor)
    left_out = "; ".join(f"{escaped(first_names(names))} ({escaped(why)})" for why, names in reasons.items())
    words += f" Donors left out: {left_out}." if left_out else ""
    words += " All are in <code>clusters/hla.tsv</code>."
    shown = results.table[results.table["p"].notna()].head(N_TOP)
    title = "Clusters and the donors' HLA"
    if not len(shown):
        return [section("airrvec_clusters_hla", title, words, "html", "")]
    known = results.clusters.set_index("cluster_id")
    numbers = cluster_numbers(results.clusters)
    data = {
        f"{place:02d}": _cells(row, numbers, known.loc[row.cluster_id])
        for place, row in enumerate(tables.named_rows(shown), 1)
    }
    pconfig = {"col1_header": "Rank", "sort_rows": False}
    return [section("airrvec_clusters_hla", title, words, "table", data, headers=_headers(), pconfig=pconfig)]


def _cells(row, numbers: dict[str, str], cluster: pd.Series) -> dict:
    """Return the cells of a cluster and an allele."""
    ratios = [f"{value:.3g}" if np.isfinite(value) else "∞" for value in (row.odds_ratio, row.low, row.high)]
    has_epitope = cluster["epitope_fdr"] <= schema.ENRICHED_FDR
    return {
        "allele": text_cell(row.allele),
        "cluster": text_cell(f"cluster {numbers[row.cluster_id]}"),
        **named_chain_cells(row.centre),
        "carriers": text_cell(f"{row.n_carriers_in_cluster} of {row.n_carriers}"),
        "noncarriers": text_cell(f"{row.n_noncarriers_in_cluster} of {row.n_noncarriers}"),
        "odds_ratio": text_cell("{} ({} to {})".format(*ratios)),
        "p": row.p,
        "fdr": row.fdr,
        "least_p": row.least_p,
        "epitope": text_cell(cluster["epitope"] if has_epitope else ""),
        "mhc": text_cell(cluster["mhc"] if has_epitope else ""),
    }


def _headers() -> dict[str, dict]:
    return {
        "allele": text_header("HLA", **meaning("hla", "allele")),
        "cluster": text_header("Cluster", "Number in the table of the largest clusters"),
        **CENTRE_HEADERS,
        "carriers": text_header("Donors with it", "Donors with the allele that have the cluster"),
        "noncarriers": text_header("Donors without", "Donors without the allele that have the cluster"),
        "odds_ratio": text_header("Odds ratio", **meaning("hla", "odds_ratio")),
        "p": {"title": "p", **NUMBER, **meaning("hla", "p")},
        "fdr": {"title": "FDR", **NUMBER, **meaning("hla", "fdr")},
        "least_p": {"title": "Least p", **NUMBER, **meaning("hla", "least_p")},
        "epitope": text_header("Enriched epitope", **meaning("clusters", "epitope")),
        "mhc": text_header("Its MHC", **meaning("clusters", "mhc")),
    }
