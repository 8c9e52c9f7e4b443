"""Motif of a cluster: aligned junctions, residue frequencies, and letter heights of the logo."""

from collections import Counter

import numpy as np
import pandas as pd

GAP = "-"


def align(junctions: list[str]) -> list[str]:
    """
    Return junctions padded to the length of the longest, with gaps in the middle as in IMGT's numbering.

    Half of a junction's residues are left of its gaps; an odd residue is also left (Lefranc et al. 2003,
    Developmental and Comparative Immunology 27, 55).
    """
    longest = max(map(len, junctions))
    padded = []
    for junction in junctions:
        left = -(-len(junction) // 2)
        padded.append(junction[:left] + GAP * (longest - len(junction)) + junction[left:])
    return padded


def frequencies(junctions: list[str]) -> pd.DataFrame:
    """
    Return the frequency of each residue at each position of the aligned junctions.

    Returns
    -------
    DataFrame
        ``position`` from 1, ``residue`` (or `GAP`), ``frequency`` above 0, most frequent first.
    """
    rows = [
        (position, residue, number / len(junctions))
        for position, column in enumerate(zip(*align(junctions), strict=True), start=1)
        for residue, number in sorted(Counter(column).items(), key=lambda found: (-found[1], found[0]))
    ]
    return pd.DataFrame(rows, columns=["position", "residue", "frequency"])


def consensus(found: pd.DataFrame) -> str:
    """Return the most frequent residue at each position of `frequencies`, without gaps."""
    return "".join(found.drop_duplicates("position")["residue"]).replace(GAP, "")


def letter_heights(found: pd.DataFrame) -> pd.DataFrame:
    """
    Return letter heights of a logo, in bits: residue frequency times information, log2 20 − entropy.

    Parameters
    ----------
    found : DataFrame
        From `frequencies`. A position's information is scaled by its share of residues that are not gaps.

    Returns
    -------
    DataFrame
        One row per position, one column per residue.
    """
    shares = found.pivot_table(index="position", columns="residue", values="frequency", fill_value=0)
    shares = shares.drop(columns=GAP, errors="ignore")
    filled = shares.sum(axis=1)
    within = shares.div(filled, axis=0)
    entropy = -(within * np.log2(within.where(within > 0, 1))).sum(axis=1)
    return within.mul((np.log2(20) - entropy) * filled, axis=0)
