r"""
Probability of coincidence against a threshold of TCRdist.

The paper's supplementary figure "Statistics of pairwise sequence similarities between pMHC-specific TCRs
used in benchmarking": of an epitope the share of pairs of its receptors within a TCRdist,

.. math:: p_C(\Delta) = P(d(x, y) \leq \Delta)

Here also that of background pairs, random labelled receptors that share no epitope, and the ratio of the two.
"""

import numpy as np
import pyarrow as pa

from airrvec.analyses import ONCE, NotDone
from airrvec.analyses.material import Material, co_specific, pairs, tcrdist
from airrvec.core.seeds import generator

SCOPE = ONCE
SCHEMA = pa.schema(
    [
        ("epitope", pa.string()),
        ("tcrdist", pa.int32()),
        ("n_pairs", pa.int64()),
        ("probability", pa.float64()),
        ("background", pa.float64()),
        ("ratio", pa.float64()),
    ]
)
THRESHOLDS = np.arange(0, 421, 12)


def measure(material: Material) -> pa.Table:
    """Cumulative probabilities of every epitope that has enough receptors, largest first."""
    sample = material.sample
    i, j = material.pairs(sample)
    others = ~co_specific(sample, i, j)
    if not others.any():
        raise NotDone("all pairs of receptors share an epitope: there is no background")
    background = cumulative(tcrdist(sample.receptors, i[others], j[others]))
    epitopes = sorted(material.epitopes.items(), key=lambda item: (-len(item[1]), item[0]))
    if not epitopes:
        raise NotDone(f"no epitope has {material.min_receptors} receptors")
    parts = []
    for epitope, rows in epitopes:
        receptors = material.labelled.receptors.take(pa.array(rows))
        i, j = pairs(len(rows), generator(material.seed, "coincidence", epitope))
        if not len(i):
            continue
        within = cumulative(tcrdist(receptors, i, j))
        # No background pair so near: the ratio is not known.
        ratio = np.divide(within, background, out=np.full(len(within), np.nan), where=background > 0)
        n = len(THRESHOLDS)
        columns = [
            pa.repeat(epitope, n), THRESHOLDS, np.full(n, len(i)), within, background,
            pa.array(ratio, from_pandas=True),
        ]  # fmt: skip
        parts.append(pa.table([*columns], names=SCHEMA.names).cast(SCHEMA))
    return pa.concat_tables(parts)


def cumulative(distances: np.ndarray) -> np.ndarray:
    """Share of distances not above each of `THRESHOLDS`."""
    return np.searchsorted(np.sort(distances), THRESHOLDS, side="right") / len(distances)
