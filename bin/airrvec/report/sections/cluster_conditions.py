"""Clusters compared between the samples of conditions, in the MultiQC report."""

from airrvec.core.terminal import counted
from airrvec.report.columns import meaning
from airrvec.report.page import escaped, section
from airrvec.report.receptor_cells import named_chain_cells, text_cell, text_header
from airrvec.report.sections.cluster_names import CENTRE_HEADERS, cluster_numbers

N_TOP = 50  # comparisons in the table


def conditions_section(found, motifs: dict[str, str]) -> dict:
    """
    Return the section.

    Parameters
    ----------
    found : airrvec.report.sections.clusters.Clusters
    motifs : dict
        Consensus and label of each cluster, in HTML, by its ``cluster_id``.
    """
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
    numbers = cluster_numbers(found.clusters)
    data = {
        f"{numbers[row.cluster_id]}, {escaped(row.value_1)} and {escaped(row.value_2)}": {
            **named_chain_cells(row.centre),
            "carrying_1": f"{row.n_carrying_1} of {row.n_samples_1}",
            "carrying_2": f"{row.n_carrying_2} of {row.n_samples_2}",
            "fisher_fdr": row.fisher_fdr,
            "rank_fdr": row.rank_fdr,
            "share_1": 100 * row.share_1,
            "share_2": 100 * row.share_2,
            "motif": motifs[row.cluster_id],
            "id": text_cell(row.cluster_id),
        }
        for row in shown.itertuples()
    }
    share, rate = {"suffix": " %", "format": "{:,.3f}", "scale": False}, {"format": "{:,.3g}", "scale": False}
    headers = {
        **CENTRE_HEADERS,
        "carrying_1": {"title": "First: samples", **meaning("cluster_conditions", "n_carrying_1")},
        "carrying_2": {"title": "Second: samples", **meaning("cluster_conditions", "n_carrying_2")},
        "fisher_fdr": {
            "title": "FDR, Fisher",
            **rate,
            **meaning("cluster_conditions", "fisher_fdr"),
        },
        "rank_fdr": {
            "title": "FDR, ranks",
            **rate,
            **meaning("cluster_conditions", "rank_fdr"),
        },
        "share_1": {
            "title": "First: share of cells",
            **share,
            **meaning("cluster_conditions", "share_1"),
        },
        "share_2": {
            "title": "Second: share of cells",
            **share,
            **meaning("cluster_conditions", "share_2"),
        },
        "motif": text_header("Consensus, epitope"),
        "id": text_header("Cluster id", **meaning("cluster_conditions", "cluster_id")),
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
