r"""
Probability of coincidence against the TCRdist threshold.

The paper's supplementary figure "Statistics of pairwise sequence similarities between pMHC-specific TCRs
used in benchmarking": the share of pairs of an epitope's receptors within a TCRdist,

.. math:: p_C(\Delta) = P(d(x, y) \leq \Delta)

Added here: the same share of background pairs (random labelled receptors that share no epitope), and the
ratio.
"""

from airrvec.analyses import ONCE, AnalysisSkipped
from airrvec.analyses.material import Material, co_specific, pairs, tcrdist
from airrvec.core import schema
from airrvec.core.seeds import generator

import numpy as np
import pyarrow as pa

SCOPE = ONCE
SCHEMA = schema.COINCIDENCE
THRESHOLDS = np.arange(0, 421, 12)


def measure(material: Material) -> pa.Table:
    """Return cumulative probabilities of every epitope with enough receptors, largest first."""
    sample = material.sample
    i, j = material.pairs(sample)
    unrelated = ~co_specific(sample, i, j)
    if not unrelated.any():
        raise AnalysisSkipped("all pairs of receptors share an epitope: there is no background")
    background = cumulative(tcrdist(sample.receptors, i[unrelated], j[unrelated]))
    epitopes = sorted(material.epitopes.items(), key=lambda item: (-len(item[1]), item[0]))
    if not epitopes:
        raise AnalysisSkipped(f"no epitope has {material.min_receptors} receptors")
    parts = []
    for epitope, rows in epitopes:
        receptors = material.labelled.receptors.take(pa.array(rows))
        i, j = pairs(len(rows), generator(material.seed, "coincidence", epitope))
        if not len(i):
            continue
        within = cumulative(tcrdist(receptors, i, j))
        # Without background pairs within the threshold, the ratio is undefined.
        ratio = np.divide(within, background, out=np.full(len(within), np.nan), where=background > 0)
        n = len(THRESHOLDS)
        columns = [
            pa.repeat(epitope, n), THRESHOLDS, np.full(n, len(i)), within, background,
            pa.array(ratio, from_pandas=True),
        ]  # fmt: skip
        parts.append(pa.table([*columns], names=SCHEMA.names).cast(SCHEMA))
    return pa.concat_tables(parts)


def cumulative(distances: np.ndarray) -> np.ndarray:
    """Return the share of distances at or below each of `THRESHOLDS`."""
    return np.searchsorted(np.sort(distances), THRESHOLDS, side="right") / len(distances)
