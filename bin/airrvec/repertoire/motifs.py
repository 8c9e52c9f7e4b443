"""What the receptors of a cluster share: genes, and residues of aligned junctions."""

from collections import Counter
from collections.abc import Iterable

from airrvec.core import schema

import numpy as np
import pandas as pd

GAP = "-"


def align(junctions: list[str]) -> list[str]:
    """
    Return junctions padded to the length of the longest, with gaps in the middle as in IMGT's numbering.

    Half of a junction's residues are left of its gaps; an odd residue is also left (Lefranc et al. 2003,
    Developmental and Comparative Immunology 27, 55).

    Examples
    --------
    >>> align(["CASSIRSSYEQYF", "CASSRSSYEQYF"])
    ['CASSIRSSYEQYF', 'CASSRS-SYEQYF']
    """
    longest = max(map(len, junctions))
    padded = []
    for junction in junctions:
        left = -(-len(junction) // 2)
        padded.append(junction[:left] + GAP * (longest - len(junction)) + junction[left:])
    return padded


def residue_frequencies(junctions: list[str]) -> pd.DataFrame:
    """
    Return the frequency of each residue at each position of the aligned junctions.

    Returns
    -------
    DataFrame
        ``position`` from 1, ``residue`` (or `GAP`), ``frequency`` above 0, most frequent first.

    Examples
    --------
    >>> residue_frequencies(["CASF", "CATF"])
       position residue  frequency
    0         1       C        1.0
    1         2       A        1.0
    2         3       S        0.5
    3         3       T        0.5
    4         4       F        1.0
    """
    rows = [
        (position, residue, number / len(junctions))
        for position, column in enumerate(zip(*align(junctions), strict=True), start=1)
        for residue, number in sorted(Counter(column).items(), key=lambda item: (-item[1], item[0]))
    ]
    return pd.DataFrame(rows, columns=["position", "residue", "frequency"])


def consensus(frequencies: pd.DataFrame) -> str:
    """
    Return the most frequent residue at each position of `residue_frequencies`, without gaps.

    Examples
    --------
    >>> consensus(residue_frequencies(["CASF", "CATF"]))
    'CASF'
    """
    first: dict[int, str] = {}
    for position, residue in zip(frequencies["position"], frequencies["residue"], strict=True):
        first.setdefault(position, residue)
    return "".join(first.values()).replace(GAP, "")


def letter_heights(frequencies: pd.DataFrame) -> pd.DataFrame:
    """
    Return letter heights of a logo, in bits: residue frequency times information, log2 20 − entropy.

    Parameters
    ----------
    frequencies : DataFrame
        From `residue_frequencies`. The information of a position is scaled by its share of residues that are
        not gaps.

    Returns
    -------
    DataFrame
        One row per position, one column per residue.
    """
    shares = frequencies.pivot_table(index="position", columns="residue", values="frequency", fill_value=0)
    shares = shares.drop(columns=GAP, errors="ignore")
    filled = shares.sum(axis=1)
    within = shares.div(filled, axis=0)
    entropy = -(within * np.log2(within.where(within > 0, 1))).sum(axis=1)
    return within.mul((np.log2(20) - entropy) * filled, axis=0)


def common_genes(receptors: pd.DataFrame, locus: str) -> dict:
    """
    Return the commonest V and J gene of a locus, ignoring alleles, and their shares of the members.

    Examples
    --------
    >>> genes = {"trd_v_call": ["TRDV2*01", "TRDV2*03", "TRDV1"], "trd_j_call": ["TRDJ1", None, None]}
    >>> common_genes(pd.DataFrame(genes), "TRD")["trd_v_call"]
    'TRDV2'
    """
    row = {}
    for name in ("v_call", "j_call"):
        column = schema.field(locus, name)
        top, n = commonest(call.split("*")[0] for call in receptors[column].dropna())
        row[column], row[column.replace("_call", "_share")] = top, n / len(receptors) if n else None
    return row


def commonest(texts: Iterable[str]) -> tuple[str | None, int]:
    """
    Return the commonest text and how often it occurs, of equal ones the first; None and 0 if there is none.

    Not by pandas, which takes a millisecond for each of many small clusters.

    Examples
    --------
    >>> commonest(["b", "a", "b", "a", "c"]), commonest([])
    (('a', 2), (None, 0))
    """
    counts = Counter(texts)
    return min(counts.items(), key=lambda item: (-item[1], item[0]), default=(None, 0))
