"""Diversity of samples in the MultiQC report."""

import pandas as pd

from airrvec.report.page import COUNT, NUMBER, SHARE, escaped, not_compared_text, section


def diversity_section(diversity: pd.DataFrame, counts: dict) -> dict:
    """Return the numbers of receptors, rarefied, from the tables and counts of ``compare_samples.py``."""
    data = {
        f"{escaped(row.sample_id)}, {row.group}": {
            "cells": row.n_cells,
            "receptors": row.n_receptors,
            "depth": row.depth,
            **{f"hill_{order}": getattr(row, f"hill_{order}_rarefied") for order in (0, 1, 2)},
            "coincidence": row.coincidence if pd.notna(row.coincidence) else None,
            "coverage": 100 * row.coverage,
        }
        for row in diversity.itertuples()
    }
    depth = {"format": "{:,.1f}", "scale": False}
    headers = {
        "cells": {"title": "Cells", **COUNT},
        "receptors": {"title": "Receptors", **COUNT},
        "depth": {
            "title": "Depth",
            **COUNT,
            "description": "Depth of rarefaction: number of cells of the smallest sample",
        },
        "hill_0": {
            "title": "Receptors, rarefied",
            **depth,
            "description": "Hill number of order 0, rarefied",
        },
        "hill_1": {
            "title": "Effective number, order 1",
            **depth,
            "description": "Hill number of order 1, rarefied: exponential of the Shannon entropy",
        },
        "hill_2": {
            "title": "Effective number, order 2",
            **depth,
            "description": "Hill number of order 2, rarefied: inverse Simpson index; large clones dominate",
        },
        "coincidence": {
            "title": "Coincidence",
            **NUMBER,
            "description": "Probability that two cells of the sample have the same receptor",
        },
        "coverage": {
            "title": "Coverage",
            **SHARE,
            "description": "Estimated share of cells of the repertoire whose receptor is in the sample",
        },
    }
    words = (
        "Number of distinct receptors, and how evenly the cells are distributed over them (Hill numbers). All"
        " samples are rarefied to the number of cells of the smallest one: compare only the rarefied numbers."
        " If the effective number of order 2 is far below the number of receptors, the sample has a few large"
        " clones (clonal expansion). Receptors that differ only in alleles count as one."
    )
    words += not_compared_text(counts)
    if not data:
        return section(
            "airrvec_comparison_diversity", "Diversity", words, "html", "<p>There are no cells to count.</p>"
        )
    return section(
        "airrvec_comparison_diversity",
        "Diversity",
        words,
        "table",
        data,
        headers=headers,
        pconfig={"col1_header": "Sample", "sort_rows": False},
    )
