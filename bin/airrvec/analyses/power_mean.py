r"""
Combination of α and β chain distances by an encoder.

The paper's supplementary figure "SCEPTR distances do not average α and β chain similarity arithmetically":
the correlation of an encoder's distances with the power mean of the two chains' TCRdist,

.. math:: M_p = \left(\frac{d_\alpha^p + d_\beta^p}{2}\right)^{1/p}

p = -∞ is the minimum, 0 the geometric mean, 1 the arithmetic mean, ∞ the maximum. To test whether the
combination helps prediction, `auroc` is that of co-specific against other pairs by :math:`M_p` itself.
"""

from airrvec.analyses import EACH_ENCODER
from airrvec.analyses.material import Material, co_specific, pair_distances, tcrdist
from airrvec.core import schema
from airrvec.stats.metrics import auroc

import numpy as np
import pyarrow as pa
from scipy import stats

SCOPE = EACH_ENCODER
SCHEMA = schema.POWER_MEAN
EXPONENTS = (-np.inf, -16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, np.inf)


def power_mean(a: np.ndarray, b: np.ndarray, exponent: float) -> np.ndarray:
    """
    Return the power mean of two non-negative arrays; its limit if the exponent is 0 or infinite.

    With an exponent of 0 or less, the mean is 0 where one of the two values is 0.
    """
    low, high = np.minimum(a, b), np.maximum(a, b)
    if np.isinf(exponent):
        return low if exponent < 0 else high
    # Powers of the ratio do not overflow: 0 <= ratio <= 1.
    ratio = np.divide(low, high, out=np.ones_like(high, float), where=high > 0)
    if exponent == 0:
        return high * np.sqrt(ratio)
    if exponent > 0:
        return high * ((1 + ratio**exponent) / 2) ** (1 / exponent)
    inverse = np.divide(1, ratio, out=np.full_like(ratio, np.inf), where=ratio > 0)
    return low * ((1 + inverse**exponent) / 2) ** (1 / exponent)


def measure(material: Material) -> pa.Table:
    """Return the correlation with power means of the chains' TCRdist, over pairs of random receptors."""
    sample = material.sample
    i, j = material.pairs(sample)
    distances = pair_distances(material.encoder, sample.receptors, i, j)
    alpha, beta = (tcrdist(sample.receptors, i, j, chain) for chain in ("alpha", "beta"))
    same = co_specific(sample, i, j)
    finite = np.isfinite(distances)
    varies = finite.sum() > 1 and np.ptp(distances[finite]) > 0
    rows = []
    for exponent in EXPONENTS:
        mean = power_mean(alpha, beta, exponent)
        rows.append(
            {
                "encoder": material.name,
                "exponent": exponent,
                "n_pairs": int(finite.sum()),
                "pearson": float(stats.pearsonr(mean[finite], distances[finite])[0]) if varies else None,
                "auroc": auroc(mean[same], mean[~same]) if 0 < same.sum() < len(same) else None,
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)
