"""Overlap of each two samples in the MultiQC report, as a heat map of samples by donor and condition."""

from airrvec.core import tables
from airrvec.core.terminal import counted
from airrvec.report.page import WHITE_TO_BLUE, escaped, section

import numpy as np
import pandas as pd

MAX_SAMPLES = 60  # of the map; those with the largest overlap
_ID = "airrvec_comparison_overlap"
_HEADING = "Overlap"


def overlap_section(pairs: pd.DataFrame, counts: dict) -> dict:
    """
    Return the heat map of the chains that most samples have; a sentence if no two samples share a receptor.

    Parameters
    ----------
    pairs : DataFrame
        `airrvec.core.schema.SAMPLE_PAIRS` with the title of the class in ``group``.
    counts : dict
        QC of ``compare_samples.py``.
    """
    pairs = pairs[pairs["group"] == pairs["group"].mode(dropna=False).iloc[0]]
    chains = pairs["group"].iloc[0]
    if not (pairs["morisita_horn"] > 0).any():
        words = f"<p>No two samples share a receptor ({chains}).</p>"
        return section(_ID, _HEADING, "", "html", words)
    values = _matrix(pairs)
    highest = values.max(axis=1)
    chosen = highest.nlargest(MAX_SAMPLES, keep="first").index
    order = sorted(chosen, key=lambda sample: _place(sample, counts))
    values = values.loc[order, order]
    names = [escaped(_name(sample, counts)) for sample in order]
    more = len(highest) - len(order)
    left_out = f" {counted(more, 'sample')} with a smaller overlap are left out." if more else ""
    rows = [[None if np.isnan(value) else round(value, 4) for value in row] for row in values.to_numpy()]
    return section(
        _ID,
        _HEADING,
        f"Morisita–Horn overlap of each two samples ({chains}), weighted by cells: 0 if nothing is shared,"
        " 1 if receptors and frequencies are equal. Samples stand by donor, condition and name; the"
        f" darkest colour is the largest overlap.{left_out} All numbers are in"
        " <code>comparison/pairs.tsv</code>.",
        "heatmap",
        rows,
        xcats=names,
        ycats=names,
        pconfig={
            "xlab": "Sample",
            "ylab": "Sample",
            "zlab": "Morisita–Horn",
            "min": 0,
            "max": float(highest.max()),
            "xcats_samples": False,
            "ycats_samples": False,
            "square": False,  # it would be wider than a narrow window
            "display_values": False,  # a screen of zeros, in most runs
            "tt_decimals": 4,
            "cluster_rows": False,
            "cluster_cols": False,
            "colstops": WHITE_TO_BLUE,
        },
    )


def _matrix(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return the overlap of each two samples; NaN for a sample with itself, and where it is not known."""
    samples = pd.unique(pairs[["sample_1", "sample_2"]].to_numpy().ravel())
    values = pd.DataFrame(np.nan, samples, samples)
    for row in tables.named_rows(pairs):
        values.loc[row.sample_1, row.sample_2] = values.loc[row.sample_2, row.sample_1] = row.morisita_horn
    return values


def _place(sample: str, counts: dict) -> tuple:
    return counts["donors"].get(sample, sample), counts["of_sample"].get(sample, ""), sample


def _name(sample: str, counts: dict) -> str:
    """Return the donor, the condition and the name of a sample; what is not known is left out."""
    words = [counts["donors"].get(sample, sample), counts["of_sample"].get(sample, "")]
    return ": ".join([*(word for word in words if word and word != sample), sample])
