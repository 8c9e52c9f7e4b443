"""Overlap of each two samples in the MultiQC report, as a heat map of samples by donor and condition."""

from airrvec.core.terminal import counted
from airrvec.figures.samples import overlap_matrix
from airrvec.report.page import heatmap, nothing

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
        return nothing(_ID, _HEADING, f"No two samples share a receptor ({chains}).")
    values = overlap_matrix(pairs)
    samples = pd.unique(pairs[["sample_1", "sample_2"]].to_numpy().ravel())
    values = values.loc[samples, samples]
    highest = values.max(axis=1)
    places = sorted(_place(sample, counts) for sample in highest.nlargest(MAX_SAMPLES, keep="first").index)
    order = [sample for *_, sample in places]
    names = [_name(*place) for place in places]
    more = len(highest) - len(order)
    left_out = f" {counted(more, 'sample')} with a smaller overlap are left out." if more else ""
    return heatmap(
        _ID,
        _HEADING,
        f"Morisita–Horn overlap of each two samples ({chains}), weighted by cells: 0 if nothing is shared,"
        " 1 if receptors and frequencies are equal. Samples stand by donor, condition and name; the"
        f" darkest colour is the largest overlap.{left_out} All numbers are in"
        " <code>comparison/pairs.tsv</code>.",
        values.loc[order, order].round(4).set_axis(names).set_axis(names, axis=1),
        xlab="Sample",
        ylab="Sample",
        zlab="Overlap, 0 to 1",
        max=float(highest.max()),
        ycats_samples=False,
        tt_decimals=4,
    )


def _place(sample: str, counts: dict) -> tuple[str, str, str]:
    """Return the donor, or the sample where none is named; the condition, or ''; and the sample."""
    return counts["donors"].get(sample, sample), counts["of_sample"].get(sample, ""), sample


def _name(donor: str, condition: str, sample: str) -> str:
    return ": ".join([*(word for word in (donor, condition) if word and word != sample), sample])
