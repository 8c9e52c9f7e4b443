"""Aligned junctions of a cluster, their frequencies, and the heights of a logo's letters."""

from collections import Counter

import numpy as np
import pandas as pd

GAP = "-"


def aligned(junctions: list[str]) -> list[str]:
    """
    Junctions brought to the length of the longest by gaps in the middle, where IMGT places them.

    Half of a junction's residues stand left of its gaps, the odd one too (Lefranc et al. 2003, Developmental
    and Comparative Immunology 27, 55).
    """
    longest = max(map(len, junctions))
    padded = []
    for junction in junctions:
        left = -(-len(junction) // 2)
        padded.append(junction[:left] + GAP * (longest - len(junction)) + junction[left:])
    return padded


def frequencies(junctions: list[str]) -> pd.DataFrame:
    """
    How often each residue stands at each position of the aligned junctions.

    Returns
    -------
    DataFrame
        ``position`` from 1, ``residue`` (or `GAP`), ``frequency`` above 0, the most frequent first.
    """
    rows = [
        (position, residue, number / len(junctions))
        for position, column in enumerate(zip(*aligned(junctions), strict=True), start=1)
        for residue, number in sorted(Counter(column).items(), key=lambda found: (-found[1], found[0]))
    ]
    return pd.DataFrame(rows, columns=["position", "residue", "frequency"])


def consensus(found: pd.DataFrame) -> str:
    """The most frequent residue of each position of `frequencies`; where that is a gap, none."""
    return "".join(found.drop_duplicates("position")["residue"]).replace(GAP, "")


def heights(found: pd.DataFrame) -> pd.DataFrame:
    """
    Heights of the letters of a logo: their share of the position's information, log2 20 − entropy, in bits.

    Parameters
    ----------
    found : DataFrame
        From `frequencies`; a position's information is scaled by its share of residues that are no gap.

    Returns
    -------
    DataFrame
        A row a position, a column a residue.
    """
    shares = found.pivot_table(index="position", columns="residue", values="frequency", fill_value=0)
    shares = shares.drop(columns=GAP, errors="ignore")
    filled = shares.sum(axis=1)
    within = shares.div(filled, axis=0)
    entropy = -(within * np.log2(within.where(within > 0, 1))).sum(axis=1)
    return within.mul((np.log2(20) - entropy) * filled, axis=0)
